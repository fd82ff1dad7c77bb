"""What benchmarks compare computes the same, and what they count and time is what they say."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks import arithmetic, comparison
from benchmarks.arithmetic import best_product_rate, cost_of
from benchmarks.comparison import Comparison, Contestant, compare
from benchmarks.contestants import REFERENCES, Entry, Runner, Sentences, Task
from benchmarks.gemm_speed import GemmMeasurement
from benchmarks.references import PackedGRU, PyTorchTreeLSTM
from benchmarks.schedule_rate import schedule_rates
from benchmarks.step_process import StepProcess
from benchmarks.step_profile import profile_step
from benchmarks.stopwatch import Spent
from benchmarks.training_step import TrainingStep
from models.corpus.sentence_block import SentenceBlock
from models.encoders.kernels.gemm import available_backends, gemm_kept
from tests.support.tree_oracles import random_sentence

needs_a_choice = pytest.mark.skipif(
    len(available_backends()) < 2, reason="this PyTorch has one backend only"
)


@pytest.fixture(autouse=True)
def gemm_as_before() -> Iterator[None]:
    with gemm_kept():
        yield


def random_block(lengths: list[int]) -> SentenceBlock:
    """Returns sentences with random trees over a few words."""
    random = Random(2)
    sentences = [random_sentence(random, length) for length in lengths]
    count = len(sentences)
    return SentenceBlock(
        token_ids=np.array([word for s in sentences for word in s.words], dtype=np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        documents=np.zeros(count, dtype=np.int32),
        sentence_index=np.arange(count, dtype=np.int32),
        rows=np.arange(count),
        heads=np.array([head for s in sentences for head in s.heads], dtype=np.int16),
        binary_left=np.array([child for s in sentences for child in s.left], dtype=np.int16),
        binary_right=np.array([child for s in sentences for child in s.right], dtype=np.int16),
    )


def task_of(block: SentenceBlock) -> Task:
    vectors = torch.randn(9, 5, generator=torch.Generator().manual_seed(4))
    return Task(Sentences(block, vectors), recursion_sentences=3, gemm="default", repeats=1, seed=0)


def entry_of(task: Task, view: str, name: str) -> Entry:
    return Entry(view, 6, name, torch.float32, "default", len(task.sentences.block))


def compare_here(
    task: Task, view: str, width: int = 6, dtypes: Sequence[torch.dtype] = (torch.float32,)
) -> Comparison:
    """Returns the comparison, made without other processes, which take seconds to start."""
    return compare(task, view, width, dtypes, lambda *which: nullcontext(Runner(*which)))


def test_time_in_no_part_of_a_step_is_its_rest() -> None:
    layer = nn.Linear(300, 300)

    def encode(vectors: torch.Tensor) -> torch.Tensor:
        time.sleep(0.05)
        found: torch.Tensor = layer(vectors)
        return found

    step = TrainingStep("slow", layer, encode, torch.ones(300, 300), "default")
    step.measure()
    started = time.perf_counter()
    profile = profile_step(step, lambda: time.sleep(0.02))
    took = 1e3 * (time.perf_counter() - started)
    assert profile.rest >= 50
    assert profile.parts["schedule"] >= 20
    assert 70 <= profile.unprofiled < took
    assert profile.parts["matrix products"] > 0
    assert profile.wall == pytest.approx(sum(profile.parts.values()) + profile.rest)
    assert profile.wall + profile.unprofiled < took


def test_schedules_are_timed_at_best_and_in_the_middle() -> None:
    whole, *_ = schedule_rates(random_block([5, 1, 12]), repeats=9)
    assert whole.nodes == 18 + 33
    assert 0 < whole.best <= whole.median


@pytest.mark.parametrize("view", REFERENCES)
@pytest.mark.parametrize("lengths", [[5, 1, 12, 3, 1], [1, 1, 1, 1], [1, 40, 2]])
def test_references_compute_what_the_encoders_do(view: str, lengths: list[int]) -> None:
    ours, *references = compare_here(task_of(random_block(lengths)), view).contestants
    assert ours.entry.name == "ours" and ours.difference == 0
    assert {found.entry.name for found in references} == set(REFERENCES[view])
    assert all(found.difference is not None and found.difference < 2e-6 for found in references)


@needs_a_choice
def test_with_another_gemm_ours_is_measured_with_the_references_as_well() -> None:
    task = replace(task_of(random_block([5, 1, 12])), gemm="onednn")
    found = compare_here(task, "DEP")
    ours = [c.entry.gemm for c in found.contestants if c.entry.name == "ours"]
    assert ours == ["onednn", "default"]
    chosen, same = found.ours(), found.ours("default")
    assert chosen.cost == same.cost
    assert found.times_faster("default")["recursion"] == pytest.approx(
        found.times_faster()["recursion"] * chosen.seconds / same.seconds
    )


@pytest.mark.parametrize(("view", "nodes"), [("DEP", 18), ("CONST", 33), ("SEQ", 18)])
def test_recursion_is_scaled_by_the_nodes_that_the_view_computes(view: str, nodes: int) -> None:
    sentences = task_of(random_block([5, 1, 12])).sentences
    assert sentences.num_nodes(view) == nodes
    if view != "SEQ":
        task = Task(sentences, recursion_sentences=2, gemm="default", repeats=1, seed=0)
        recursion = compare_here(task, view).contestants[-1].entry
        assert recursion.num_sentences == 2
        scale = Runner(task, recursion).step.scale
        assert scale == nodes / sentences.first(2).num_nodes(view)


@pytest.mark.parametrize("weight", ["weight_ih_l0", "bias_hh_l0"])
def test_a_gradient_that_is_no_number_is_refused(
    weight: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Spoilt(PackedGRU):
        def __init__(self, block: SentenceBlock, *, word_size: int, hidden_size: int) -> None:
            super().__init__(block, word_size=word_size, hidden_size=hidden_size)
            getattr(self.gru, weight).register_hook(lambda gradient: gradient * float("nan"))

    monkeypatch.setitem(REFERENCES, "SEQ", {"nn_gru": Spoilt})
    with pytest.raises(ArithmeticError, match="differs from our encoder by nan"):
        compare_here(task_of(random_block([5, 1, 12])), "SEQ")


@pytest.mark.parametrize(
    ("view", "bias"),
    [
        ("DEP", "cell.word.bias"),
        ("CONST", "cell.forget_bias"),
        ("SEQ", "cell.word.bias"),
        ("SEQ", "cell.state.bias"),
    ],
)
def test_rounding_to_bfloat16_passes_and_a_bias_lost_in_it_does_not(view: str, bias: str) -> None:
    task = task_of(random_block([5, 1, 12, 3]))
    both = (torch.float32, torch.bfloat16)
    difference = compare_here(task, view, 32, both).contestants[1].difference
    assert difference is not None and 1e-3 < difference < 0.02

    def start_lossy(task: Task, entry: Entry) -> nullcontext[Runner]:
        runner = Runner(task, entry)
        if entry.dtype == torch.bfloat16:
            with torch.no_grad():
                runner.step.module.get_parameter(bias).zero_()
        return nullcontext(runner)

    with pytest.raises(ArithmeticError, match=r"ours in torch\.bfloat16 differs .* by norm"):
        compare(task, view, 32, both, start_lossy)


def test_an_implementation_that_computes_something_else_is_refused() -> None:
    entry = entry_of(task_of(random_block([3])), "SEQ", "nn_gru")
    contestant = Contestant(entry, "another", None, expected={"": torch.ones(4)})
    contestant.check({"": torch.ones(4)})
    for found in (1.001, float("nan")):
        with pytest.raises(ArithmeticError, match=r"another in torch\.float32 differs from our"):
            contestant.check({"": torch.full((4,), found)})


def test_the_fastest_step_counts_and_the_one_in_the_middle_is_told() -> None:
    entry = entry_of(task_of(random_block([3])), "SEQ", "nn_gru")
    times = [Spent(5.0, 1.5), Spent(2.0, 1.75), Spent(3.0, 1.25)]
    found = Contestant(entry, "another", None, expected={}, times=times)
    assert (found.seconds, found.median_seconds, found.cpu_seconds) == (2.0, 3.0, 1.25)


def test_a_part_of_a_step_counts_as_the_whole_would() -> None:
    whole = Spent(2.0, 1.0).times(3) + Spent(0.5, 0.25)
    assert whole == Spent(6.5, 3.25)


def test_implementations_take_turns_after_all_are_warm() -> None:
    task = replace(task_of(random_block([5, 1])), repeats=2)
    acts: list[str] = []

    class Told(Runner):
        def warm_up(self, outcome: Path) -> None:
            acts.append(f"warm {self.step.label}")
            super().warm_up(outcome)

        def measure(self) -> Spent:
            acts.append(self.step.label)
            return super().measure()

    found = compare(task, "SEQ", 6, start=lambda *which: nullcontext(Told(*which)))
    turn = ["ours", "nn.GRU, packed"]
    assert acts == [*(f"warm {label}" for label in turn), *turn, *turn]
    assert all(len(contestant.times) == 2 for contestant in found.contestants)


def test_no_more_implementations_run_at_once_than_memory_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running: set[Entry] = set()
    most = 0

    class Counted(nullcontext[Runner]):
        def __init__(self, task: Task, entry: Entry) -> None:
            nonlocal most
            super().__init__(Runner(task, entry))
            self.entry = entry
            running.add(entry)
            most = max(most, len(running))

        def __exit__(self, *error: object) -> None:
            running.remove(self.entry)

    dtypes = (torch.float32, torch.bfloat16)
    monkeypatch.setattr(comparison, "MAX_PROCESSES", 2)
    found = compare(task_of(random_block([5, 1])), "DEP", 6, dtypes, Counted)
    assert len(found.contestants) == 5
    assert most == 2
    assert all(contestant.times for contestant in found.contestants)


@pytest.mark.slow
def test_a_step_in_another_process_comes_to_the_same(tmp_path: Path) -> None:
    task = task_of(random_block([5, 1, 12]))
    entry = entry_of(task, "SEQ", "ours")
    with StepProcess(task, entry) as process:
        process.warm_up(tmp_path / "outcome.pt")
        assert process.measure().wall > 0
    expected = Runner(task, entry).outcome()
    found = torch.load(tmp_path / "outcome.pt")
    assert set(found) == set(expected)
    assert all(torch.allclose(found[name], value, rtol=1e-5) for name, value in expected.items())


@pytest.mark.slow
def test_what_another_process_raises_is_raised_here_and_its_death_told(tmp_path: Path) -> None:
    task = task_of(random_block([5, 1]))
    with StepProcess(task, entry_of(task, "SEQ", "nn_gru")) as process:
        with pytest.raises(RuntimeError, match="no does not exist"):
            process.warm_up(tmp_path / "no" / "outcome.pt")
        assert process.measure().wall > 0
        identity = process._process.pid
        assert identity is not None
        os.kill(identity, signal.SIGKILL)
        with pytest.raises(ChildProcessError, match=r"nn_gru .* exit code -9; .* lower --hidden"):
            process.measure()


def test_pytorch_tree_lstm_that_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "treelstm", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install pytorch-tree-lstm==0\.1\.3"):
        PyTorchTreeLSTM(random_block([3]), word_size=5, hidden_size=6)


def test_every_form_of_matrix_product_is_counted() -> None:
    left, right, out = torch.ones(30, 20), torch.ones(20, 10), torch.ones(30, 10)

    def products() -> None:
        _ = left @ right
        torch.mm(left, right, out=out)
        torch.addmm(out, left, right)
        torch.addmm(out, left, right, out=torch.empty(30, 10))
        out.addmm_(left, right)
        torch.nn.functional.linear(left, right.t())
        torch.nn.functional.linear(left, right.t(), torch.ones(10))
        torch.bmm(left[None], right[None])
        out[None].baddbmm_(left[None], right[None])
        _ = left[:10] * right.t()

    assert cost_of(products).flops == 9 * 2 * 30 * 20 * 10


def test_memory_of_a_step_is_the_most_held_at_once() -> None:
    def hold_two_then_one() -> None:
        first = torch.empty(1 << 20)
        second = first + 1
        del first
        _ = second.sum()

    assert cost_of(hold_two_then_one).peak_bytes == pytest.approx(8 << 20, rel=0.01)


def test_the_best_product_rate_is_positive_in_both_precisions() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        assert best_product_rate(dtype, [8, 16], repeats=1) > 0


@pytest.mark.parametrize(
    ("dtype", "error", "expected"),
    [
        (torch.float32, 4e-7, 300e9),
        (torch.float32, 2e-3, 100e9),
        (torch.float32, float("nan"), 100e9),
        (torch.bfloat16, 2e-3, 300e9),
    ],
)
def test_a_backend_that_rounds_more_than_its_precision_sets_no_rate(
    dtype: torch.dtype, error: float, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = {"default": GemmMeasurement(100, 2e-7), "onednn": GemmMeasurement(300, error)}
    monkeypatch.setattr(arithmetic, "measure_gemm", lambda **_: measured)
    assert best_product_rate(dtype, [8], repeats=1) == expected
