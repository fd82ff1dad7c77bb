"""Each benchmark runs on a small corpus and ends in one line of JSON; no times are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from benchmarks import reader, train_gpu, tree_lstm
from benchmarks.arithmetic import best_product_rate, cost_of
from benchmarks.comparison import REFERENCES, Contestant, Sentences, Task, compare
from benchmarks.corpus import corpus_folders
from benchmarks.references import PyTorchTreeLSTM
from benchmarks.report import markdown_table
from benchmarks.training_step import TrainingStep
from models.corpus.sentence_block import SentenceBlock
from models.kernels.gemm import gemm_kept
from tests.parsed_corpora import stories, write_corpus
from tests.tree_oracles import random_sentence

REPOSITORY = Path(__file__).resolve().parent.parent

VIEW_KEYS = {
    "dep": ("vs_pytorch_tree_lstm", "vs_autograd", "vs_recursion", "gemm_share"),
    "const": ("vs_autograd", "vs_recursion", "gemm_share"),
    "seq": ("vs_nn_gru", "gemm_share"),
}
QUICK = ("--word-size", "6", "--repeats", "1", "--gemm-sizes", "16", "--schedule-repeats", "2")


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
    arguments = ("--corpus", str(corpus), "--sentences", "30", "--hidden", "8", "12", *QUICK)
    assert tree_lstm.main(arguments) == 0
    found = last_line(capsys)
    expected = {
        f"{view}_{hidden}_{key}"
        for view, keys in VIEW_KEYS.items()
        for key in keys
        for hidden in (8, 12)
    }
    assert set(found) == expected | {"schedule_nodes_per_second"}
    assert all(isinstance(value, int | float) and value > 0 for value in found.values())


def test_tree_lstm_shows_what_ran_above_its_table(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--corpus", str(corpus), "--sentences", "30", "--hidden", "8", *QUICK)
    tree_lstm.main(arguments)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"command: python -m benchmarks.tree_lstm {' '.join(arguments)}"
    assert [line.partition(":")[0] for line in lines[1:5]] == [
        *("commit", "machine", "versions", "seed")
    ]
    assert any(line.startswith("| DEP ") and "pytorch-tree-lstm 0.1.3" in line for line in lines)
    assert any(line.startswith("recursion: measured on the first 20 ") for line in lines)


def test_tree_lstm_profile_shares_out_the_whole_step(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--corpus", str(corpus), "--sentences", "30", "--hidden", "8", *QUICK, "--profile")
    assert tree_lstm.main(arguments) == 0
    cells = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    for view in ("DEP", "CONST", "SEQ"):
        parts = {row[2].strip(): float(row[4]) for row in cells if row[0].strip() == view}
        assert {"matrix products", "optimiser", "schedule", "rest"} < set(parts)
        assert sum(parts.values()) == pytest.approx(100, abs=0.5)


def test_train_gpu_ends_in_its_rate(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--corpus", str(corpus), "--device", "cpu", "--hidden", "8", "--word-size", "6")
    assert train_gpu.main((*arguments, "--batch", "8", "--steps", "10", "--warmup", "1")) == 0
    found = last_line(capsys)
    assert found["device"] == "cpu"
    rate, hours = found["sentences_per_second"], found["hours_for_40m"]
    assert isinstance(rate, float) and isinstance(hours, float)
    assert hours * rate == pytest.approx(40e6 / 3600, rel=0.1)


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
    assert reader.main((*arguments, "--steps", "2")) == 0
    found = last_line(capsys)
    assert isinstance(found["reader_vs_training"], float)
    assert found["reader_vs_training"] > 0


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
    comparison = compare(task_of(random_block(lengths)), view, 6)
    assert {found.name for found in comparison.contestants} == {"ours", *REFERENCES[view]}
    assert all(found.difference < 1e-5 for found in comparison.contestants)


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


def test_tables_are_markdown_with_numbers_to_the_right() -> None:
    assert markdown_table(["who", "n"], [["us", "1.50"], ["them", "-"]]) == [
        "| who  |    n |",
        "| ---- | ---: |",
        "| us   | 1.50 |",
        "| them |    - |",
    ]
