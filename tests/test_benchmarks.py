"""Each benchmark runs on a small corpus and ends in one line of JSON; no times are judged."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks import arithmetic, comparison, reader, train_gpu, tree_lstm
from benchmarks.arithmetic import best_product_rate, cost_of
from benchmarks.comparison import REFERENCES, Contestant, Sentences, Task, compare
from benchmarks.corpus import corpus_folders, identity
from benchmarks.references import PackedGRU, PyTorchTreeLSTM
from benchmarks.report import markdown_table
from benchmarks.schedule_rate import schedule_rates
from benchmarks.step_profile import profile_step
from benchmarks.training_rate import make_setup, measure_training
from benchmarks.training_step import TrainingStep
from models.contrastive_model import ContrastiveBatch
from models.corpus.sentence_block import SentenceBlock
from models.kernels.gemm import GemmMeasurement, available_backends, gemm_kept
from models.training.config import PRESETS
from tests.parsed_corpora import stories, write_corpus
from tests.tree_oracles import random_sentence

REPOSITORY = Path(__file__).resolve().parent.parent

VIEW_KEYS = {
    "dep": ("vs_pytorch_tree_lstm", "vs_autograd", "vs_recursion", "gemm_share"),
    "const": ("vs_autograd", "vs_recursion", "gemm_share"),
    "seq": ("vs_nn_gru", "gemm_share"),
}
QUICK = ("--word-size", "6", "--repeats", "1", "--gemm-sizes", "16", "--schedule-repeats", "2")

needs_a_choice = pytest.mark.skipif(
    len(available_backends()) < 2, reason="this PyTorch has one backend only"
)


@pytest.fixture(autouse=True)
def machine_as_before() -> Iterator[None]:
    threads = torch.get_num_threads()
    with gemm_kept():
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder, stories(8))
    return folder


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


def last_line(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert isinstance(found, dict)
    return found


def test_tree_lstm_ends_in_a_figure_for_each_comparison(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ("--sentences", "30", "--hidden", "8", "12", "--gemm", "default")
    arguments = ("--corpus", str(corpus), *sizes, *QUICK)
    assert tree_lstm.main(arguments) == 0
    found = last_line(capsys)
    expected = {
        f"{view}_{hidden}_{key}"
        for view, keys in VIEW_KEYS.items()
        for key in keys
        for hidden in (8, 12)
    }
    expected |= {f"{key}_same_gemm" for key in expected if "_vs_" in key}
    expected |= {"schedule_nodes_per_second", "schedule_nodes_per_second_median"}
    expected |= {f"schedule_percent_of_step_{hidden}" for hidden in (8, 12)}
    text = {key: found.pop(key) for key in ("gemm", "corpus", "corpus_digest")}
    assert set(found) == expected
    assert all(isinstance(value, int | float) and value > 0 for value in found.values())
    assert text == {"gemm": "default", **identity(corpus_folders(corpus))}
    best, median = (found[f"schedule_nodes_per_second{end}"] for end in ("", "_median"))
    assert isinstance(best, float | int) and isinstance(median, float | int)
    assert best >= median


@pytest.mark.parametrize(
    ("module", "options", "num_tables"),
    [
        (tree_lstm, ("--sentences", "30", "--hidden", "8", *QUICK), 2),
        (tree_lstm, ("--sentences", "30", "--hidden", "8", *QUICK, "--profile"), 1),
        (train_gpu, ("--device", "cpu", "--hidden", "8", "--steps", "1", "--warmup", "0"), 1),
        (reader, ("--hidden", "8", "--repeats", "1", "--rate", "50"), 1),
    ],
)
def test_every_table_tells_what_ran_and_explains_its_columns(
    module: ModuleType,
    options: tuple[str, ...],
    num_tables: int,
    corpus: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("--corpus", str(corpus), *options)
    assert module.main(arguments) == 0
    _, *tables = capsys.readouterr().out.split("## ")
    assert len(tables) == num_tables
    folders = corpus_folders(corpus)
    name, digest = identity(folders).values()
    for table in tables:
        notes = [line for line in table.splitlines() if line.startswith("- ")]
        run = [line.partition(":")[0] for line in notes[-6:]]
        assert run == ["- command", "- commit", "- machine", "- versions", "- seed", "- corpus"]
        assert notes[-6] == f"- command: python -m {module.__name__} {' '.join(arguments)}"
        assert notes[-1] == f"- corpus: {name}, digest of its shards {digest}"
        assert len(notes) > 8


def test_tree_lstm_compares_ours_with_nothing_and_others_with_ours(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--corpus", str(corpus), "--sentences", "30", "--hidden", "8", *QUICK)
    tree_lstm.main(arguments)
    rows = [line.strip("| ").split("|") for line in capsys.readouterr().out.splitlines()]
    cells = [[cell.strip() for cell in row] for row in rows if row[0].strip() == "DEP"]
    difference = {row[2]: row[9] for row in cells}
    assert difference.pop("ours") == "-"
    assert set(difference) == {"pytorch-tree-lstm 0.1.3", "plain autograd", "recursion"}
    assert all(float(cell) < 1e-5 for cell in difference.values())


def test_a_corpus_is_known_by_its_shards_wherever_it_lies(corpus: Path, tmp_path: Path) -> None:
    known = identity(corpus_folders(corpus))
    moved = shutil.copytree(corpus, tmp_path / "moved")
    assert identity(corpus_folders(moved)) == {**known, "corpus": "moved"}
    write_corpus(tmp_path / "another", stories(7))
    another = identity(corpus_folders(tmp_path / "another"))
    assert another["corpus_digest"] != known["corpus_digest"]


def test_tree_lstm_profile_has_a_part_for_each_kind(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--corpus", str(corpus), "--sentences", "30", "--hidden", "8", *QUICK, "--profile")
    assert tree_lstm.main(arguments) == 0
    cells = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    for view in ("DEP", "CONST", "SEQ"):
        parts = {row[2].strip() for row in cells if row[0].strip() == view}
        assert parts == {
            *("matrix products", "cell elementwise", "gather and scatter", "optimiser"),
            *("schedule", "rest", "whole step", "whole step without profiler"),
        }


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


def test_train_gpu_ends_in_its_rate(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--corpus", str(corpus), "--device", "cpu", "--hidden", "8", "--word-size", "6")
    assert train_gpu.main((*arguments, "--batch", "8", "--steps", "10", "--warmup", "1")) == 0
    found = last_line(capsys)
    rate, hours = found["sentences_per_second"], found["hours_for_40m"]
    assert isinstance(rate, float) and isinstance(hours, float)
    assert hours * rate == pytest.approx(40e6 / 3600, rel=0.1)
    assert {"data_wait_percent", "peak_memory_gib"} < set(found)
    expected = {
        "device": "cpu",
        "views": "DEP,CONST",
        "hidden_size": 8,
        "batch_size": 8,
        "precision": "float32",
        **identity(corpus_folders(corpus)),
    }
    assert {key: found[key] for key in expected} == expected


def test_waiting_for_data_is_counted(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(PRESETS["structured-views"], hidden_size=8, batch_size=8)
    setup = make_setup(corpus_folders(corpus), config, word_size=6)
    prepare = type(setup.model).training_batch

    def slowly(*arguments: Any) -> ContrastiveBatch:
        time.sleep(0.05)
        return prepare(*arguments)

    monkeypatch.setattr(type(setup.model), "training_batch", slowly)
    rate = measure_training(setup, torch.device("cpu"), steps=3, warmup=1, prefetch=0)
    assert 0.15 <= rate.waited_seconds <= rate.seconds


def test_train_gpu_needs_only_what_a_bare_machine_has(corpus: Path) -> None:
    absent = ("safetensors", "luigi", "tqdm", "matplotlib", "triton", "tensorboard", "zstandard")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent})); "
        "from benchmarks.train_gpu import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ("--device", "cpu", "--hidden", "8", "--steps", "1", "--warmup", "0")
    command = [sys.executable, "-c", code, "--corpus", str(corpus), *arguments]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)


def test_reader_ends_in_its_rate_over_the_training_s(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--corpus", str(corpus), "--hidden", "8", "--word-size", "6", "--repeats", "1")
    assert reader.main((*arguments, "--steps", "2", "--device", "cpu")) == 0
    found = last_line(capsys)
    assert isinstance(found["reader_vs_training"], float)
    assert found["reader_vs_training"] > 0
    assert found["training"] == "cpu" and "data_wait_percent" in found
    assert found["corpus_digest"] == identity(corpus_folders(corpus))["corpus_digest"]


def test_reader_is_compared_with_a_rate_that_is_given(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(reader, "measure_training")
    arguments = ("--corpus", str(corpus), "--hidden", "8", "--word-size", "6", "--repeats", "1")
    assert reader.main((*arguments, "--rate", "50")) == 0
    found = last_line(capsys)
    assert found["training"] == "given" and "data_wait_percent" not in found
    assert found["training_sentences_per_second"] == 50
    rate, ratio = found["reader_sentences_per_second"], found["reader_vs_training"]
    assert isinstance(rate, float) and ratio == pytest.approx(rate / 50, abs=0.01)


def test_a_rate_of_nothing_is_refused(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reader.main(["--corpus", str(corpus), "--rate", "0"]) == 2
    assert "--rate must be above 0" in capsys.readouterr().err


def test_a_sentence_alone_in_its_shard_is_not_counted(tmp_path: Path) -> None:
    folders = write_corpus(tmp_path, stories(1, sentences=5), rows_per_shard=2)
    config = replace(PRESETS["structured-views"], hidden_size=8)
    setup = make_setup(folders, config, word_size=6)
    assert setup.num_sentences == 4
    assert sum(batch.num_sentences for batch in setup.blocks(epochs=1, read_ahead=False)) == 4


@pytest.mark.parametrize("main", [tree_lstm.main, train_gpu.main, reader.main])
def test_without_a_corpus_they_say_how_to_make_one(
    main: Callable[[list[str]], int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([]) == 2
    assert "run `make run` first" in capsys.readouterr().err


def test_a_corpus_without_a_parse_is_refused(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "sentences").symlink_to(corpus / "sentences")
    with pytest.raises(FileNotFoundError, match="no complete dependencies and no constituents"):
        corpus_folders(tmp_path)


def test_more_sentences_than_there_are_is_refused(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tree_lstm.main(["--corpus", str(corpus), *QUICK]) == 2
    assert "lower --sentences or give a larger corpus" in capsys.readouterr().err


@pytest.mark.parametrize("view", REFERENCES)
@pytest.mark.parametrize("lengths", [[5, 1, 12, 3, 1], [1, 1, 1, 1], [1, 40, 2]])
def test_references_compute_what_the_encoders_do(view: str, lengths: list[int]) -> None:
    ours, *references = compare(task_of(random_block(lengths)), view, 6).contestants
    assert ours.name == "ours" and ours.difference is None
    assert {found.name for found in references} == set(REFERENCES[view])
    assert all(found.difference is not None and found.difference < 2e-6 for found in references)


@needs_a_choice
def test_with_another_gemm_ours_is_measured_with_the_references_as_well() -> None:
    task = replace(task_of(random_block([5, 1, 12])), gemm="onednn")
    found = compare(task, "DEP", 6)
    assert [c.step.gemm for c in found.contestants if c.name == "ours"] == ["onednn", "default"]
    chosen, same = found.ours(), found.ours("default")
    assert chosen.difference is None and same.difference is not None
    assert chosen.cost == same.cost
    assert found.times_faster("default")["recursion"] == pytest.approx(
        found.times_faster()["recursion"] * chosen.step.seconds / same.step.seconds
    )


@pytest.mark.parametrize(("view", "nodes"), [("DEP", 18), ("CONST", 33), ("SEQ", 18)])
def test_recursion_is_scaled_by_the_nodes_that_the_view_computes(view: str, nodes: int) -> None:
    sentences = task_of(random_block([5, 1, 12])).sentences
    assert sentences.num_nodes(view) == nodes
    if view != "SEQ":
        task = Task(sentences, recursion_sentences=2, gemm="default", repeats=1, seed=0)
        recursion = compare(task, view, 6).contestants[-1]
        assert recursion.step.scale == nodes / sentences.first(2).num_nodes(view)


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
        compare(task_of(random_block([5, 1, 12])), "SEQ", 6)


@pytest.mark.parametrize(
    ("view", "bias"),
    [
        ("DEP", "cell.word.bias"),
        ("CONST", "cell.forget_bias"),
        ("SEQ", "cell.word.bias"),
        ("SEQ", "cell.state.bias"),
    ],
)
def test_rounding_to_bfloat16_passes_and_a_bias_lost_in_it_does_not(
    view: str, bias: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(random_block([5, 1, 12, 3]))
    both = (torch.float32, torch.bfloat16)
    difference = compare(task, view, 32, both).contestants[1].difference
    assert difference is not None and 1e-3 < difference < 0.02

    def lossy_step(encoder: nn.Module, *arguments: Any) -> TrainingStep:
        if torch.bfloat16 in arguments:
            with torch.no_grad():
                encoder.get_parameter(bias).zero_()
        return our_step(encoder, *arguments)

    our_step = comparison._our_step
    monkeypatch.setattr(comparison, "_our_step", lossy_step)
    with pytest.raises(ArithmeticError, match=r"ours in torch\.bfloat16 differs .* by norm"):
        compare(task, view, 32, both)


def test_an_implementation_that_computes_something_else_is_refused() -> None:
    module = torch.nn.Linear(2, 2)
    step = TrainingStep("another", module, module, torch.ones(1, 2), "default")
    for difference in (1e-3, float("nan")):
        contestant = Contestant("another", torch.float32, step, None, difference)
        with pytest.raises(ArithmeticError, match=r"another in torch\.float32 differs from our"):
            contestant.check()


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


def test_tables_are_markdown_with_numbers_to_the_right() -> None:
    assert markdown_table(["who", "n"], [["us", "1.50"], ["them", "-"]]) == [
        "| who  |    n |",
        "| ---- | ---: |",
        "| us   | 1.50 |",
        "| them |    - |",
    ]
