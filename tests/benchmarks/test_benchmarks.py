"""Each benchmark runs on a small corpus and ends in one line of JSON; no times are judged."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from benchmarks import evaluation, frameworks, reader, shard_memory, train_gpu, tree_lstm
from benchmarks.comparison import compare
from benchmarks.contestants import Runner
from benchmarks.corpus import corpus_folders, identity
from benchmarks.report import LACKING, markdown_table
from benchmarks.training_rate import make_setup, measure_training
from models.config.training_presets import PRESETS
from models.model.sentence_model import TrainingBatch
from tests.support.parsed_corpora import stories, write_corpus
from tests.support.repository import REPOSITORY

pytestmark = pytest.mark.usefixtures("machine_as_before")


VIEW_KEYS = {
    "dep": ("vs_pytorch_tree_lstm", "vs_autograd", "vs_recursion", "gemm_share"),
    "const": ("vs_autograd", "vs_recursion", "gemm_share"),
    "seq": ("vs_nn_gru", "gemm_share"),
}
QUICK = ("--word-size", "6", "--repeats", "1", "--gemm-sizes", "16", "--schedule-repeats", "2")

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has all implementations measured in this process, as others take seconds to start."""
    pytest.importorskip("treelstm", reason="compared with pytorch-tree-lstm: the extra bench")
    here = partial(compare, start=lambda *which: nullcontext(Runner(*which)))
    monkeypatch.setattr(tree_lstm, "compare", here)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder, stories(8))
    return folder


def last_line(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert isinstance(found, dict)
    return found


@pytest.mark.usefixtures("one_process")
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
    ends = ("cpu", "same_gemm")
    expected |= {f"{key}_{end}" for key in expected if "_vs_" in key for end in ends}
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
        (frameworks, ("--hidden", "4", "--word-size", "6", "--rounds", "1", "--steps", "1"), 2),
    ],
)
@pytest.mark.usefixtures("one_process")
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


@pytest.mark.usefixtures("one_process")
def test_tree_lstm_compares_ours_with_nothing_and_others_with_ours(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = ("--corpus", str(corpus), "--sentences", "30")
    tree_lstm.main((*text, "--hidden", "8", "--gemm", "default", *QUICK))
    rows = [line.strip("| ").split("|") for line in capsys.readouterr().out.splitlines()]
    cells = [[cell.strip() for cell in row] for row in rows if row[0].strip() == "DEP"]
    difference = {row[2]: row[12] for row in cells}
    assert difference.pop("ours") == "-"
    assert set(difference) == {"pytorch-tree-lstm 0.1.3", "plain autograd", "recursion"}
    assert all(float(cell) < 1e-5 for cell in difference.values())


@pytest.mark.slow
def test_tree_lstm_measures_each_in_its_own_process(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("treelstm", reason="compared with pytorch-tree-lstm: the extra bench")
    arguments = ("--corpus", str(corpus), "--sentences", "30", "--hidden", "8", *QUICK)
    assert tree_lstm.main(arguments) == 0
    assert last_line(capsys)["dep_8_vs_pytorch_tree_lstm"]


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

    def slowly(*arguments: Any) -> TrainingBatch:
        time.sleep(0.05)
        return prepare(*arguments)

    monkeypatch.setattr(type(setup.model), "training_batch", slowly)
    rate = measure_training(setup, torch.device("cpu"), steps=3, warmup=1, prefetch=0)
    assert 0.15 <= rate.waited_seconds <= rate.spent.wall


@pytest.mark.slow
@pytest.mark.parametrize("module", ["train_gpu", "frameworks"])
def test_gpu_benchmarks_need_only_what_a_bare_machine_has(module: str, corpus: Path) -> None:
    absent = ("safetensors", "luigi", "tqdm", "triton", "zstandard")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent})); "
        f"from benchmarks.{module} import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ("--device", "cpu", "--hidden", "8", "--steps", "1", "--warmup", "1")
    command = [sys.executable, "-c", code, "--corpus", str(corpus), *arguments]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)


@needs_cuda
def test_a_gpu_s_wait_for_data_is_a_part_of_its_time(corpus: Path) -> None:
    config = replace(PRESETS["structured-views"], hidden_size=8, batch_size=8)
    setup = make_setup(corpus_folders(corpus), config, word_size=6)
    rate = measure_training(setup, torch.device("cuda"), steps=3, warmup=1, prefetch=0)
    assert 0 < rate.waited_seconds < rate.spent.wall


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


@pytest.mark.parametrize("main", [tree_lstm.main, train_gpu.main, reader.main, frameworks.main])
def test_without_a_corpus_they_say_how_to_make_one(
    main: Callable[[list[str]], int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([]) == 3
    assert "run `make run` first" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a CUDA device")
@pytest.mark.parametrize("module", [evaluation, frameworks, reader, shard_memory, train_gpu])
def test_a_gpu_that_is_lacking_is_named_at_once(
    module: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert module.main(["--quick", "--device", "cuda"]) == LACKING
    assert "PyTorch finds no CUDA device here; use --device cpu" in capsys.readouterr().err


def test_tree_lstm_names_a_lacking_package_before_it_looks_for_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "treelstm", None)
    assert tree_lstm.main(["--corpus", str(tmp_path / "none")]) == LACKING
    assert "pip install pytorch-tree-lstm" in capsys.readouterr().err


def test_a_corpus_without_a_parse_is_refused(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "sentences").symlink_to(corpus / "sentences")
    with pytest.raises(FileNotFoundError, match="no complete dependencies and no constituents"):
        corpus_folders(tmp_path)


def test_more_sentences_than_there_are_is_refused(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tree_lstm.main(["--corpus", str(corpus), *QUICK]) == 2
    assert "lower --sentences or give a larger corpus" in capsys.readouterr().err


def test_tables_are_markdown_with_numbers_to_the_right() -> None:
    assert markdown_table(["who", "n"], [["us", "1.50"], ["them", "-"]]) == [
        "| who  |    n |",
        "| ---- | ---: |",
        "| us   | 1.50 |",
        "| them |    - |",
    ]
