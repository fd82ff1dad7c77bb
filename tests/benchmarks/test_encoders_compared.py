"""The encoders that a benchmark compares compute the same, and take turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from benchmarks.comparison import Comparison, compare
from benchmarks.contestants import REFERENCES, Entry, Runner, Task
from benchmarks.references.base import PackedGRU
from benchmarks.step_process import StepProcess
from tests.support.tree_oracles import random_sentence
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.training.numerics import preserve_gemm


@pytest.fixture(autouse=True)
def gemm_as_before() -> Iterator[None]:
    with preserve_gemm():
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
    return Task(block, vectors, gemm="default", repeats=1, seed=0)


def entry_of(view: str, name: str) -> Entry:
    return Entry(view, 6, name, torch.float32, "default")


def compare_here(
    task: Task, view: str, width: int = 6, dtypes: Sequence[torch.dtype] = (torch.float32,)
) -> Comparison:
    """Returns the comparison, made without other processes, which take seconds to start."""
    return compare(task, view, width, dtypes, lambda *which: nullcontext(Runner(*which)))


@pytest.mark.parametrize("view", REFERENCES)
@pytest.mark.parametrize("lengths", [[5, 1, 12, 3, 1], [1, 1, 1, 1], [1, 40, 2]])
def test_references_compute_what_the_encoders_do(view: str, lengths: list[int]) -> None:
    ours, *references = compare_here(task_of(random_block(lengths)), view).contestants
    assert ours.entry.name == "ours" and ours.difference == 0
    assert {found.entry.name for found in references} == set(REFERENCES[view])
    assert all(found.difference is not None and found.difference < 2e-6 for found in references)


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
                runner.module.get_parameter(bias).zero_()
        return nullcontext(runner)

    with pytest.raises(ArithmeticError, match=r"ours in torch\.bfloat16 differs .* by norm"):
        compare(task, view, 32, both, start_lossy)


@pytest.mark.slow
def test_a_step_in_another_process_comes_to_the_same(tmp_path: Path) -> None:
    task = task_of(random_block([5, 1, 12]))
    entry = entry_of("SEQ", "ours")
    with StepProcess(task, entry) as process:
        process.warm_up(tmp_path / "outcome.pt")
        assert process.measure().wall > 0
    expected = Runner(task, entry).outcome()
    found = torch.load(tmp_path / "outcome.pt")
    assert set(found) == set(expected)
    assert all(torch.allclose(found[name], value, rtol=1e-5) for name, value in expected.items())
