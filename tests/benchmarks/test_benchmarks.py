"""Benchmarks over a small corpus end in one line of JSON and say what ran; no times are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
import torch

from benchmarks import evaluation, frameworks, shards, tree_lstm
from benchmarks.comparison import compare
from benchmarks.contestants import Runner
from benchmarks.corpus import corpus_folders, identity
from benchmarks.report import LACKING
from tests.support.parsed_corpora import stories, write_corpus
from tests.support.repository import REPOSITORY

pytestmark = pytest.mark.usefixtures("machine_as_before")

VIEW_KEYS = {
    "dep": ("vs_pytorch_tree_lstm", "vs_autograd"),
    "const": ("vs_autograd",),
    "seq": ("vs_nn_gru",),
}
TREE_LSTM = ("--sentences", "30", "--word-size", "6", "--repeats", "1", "--gemm", "default")
FRAMEWORKS = ("--hidden", "4", "--word-size", "6", "--rounds", "1", "--steps", "1")


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


@pytest.mark.usefixtures("one_process")
def test_tree_lstm_ends_in_a_figure_for_each_comparison(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tree_lstm.main(("--corpus", str(corpus), *TREE_LSTM, "--hidden", "8", "12")) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    expected = {
        f"{view}_{hidden}_{key}{end}"
        for view, keys in VIEW_KEYS.items()
        for key in keys
        for hidden in (8, 12)
        for end in ("", "_cpu", "_same_gemm")
    }
    text = {key: found.pop(key) for key in ("gemm", "corpus", "corpus_digest")}
    assert set(found) == expected
    assert all(value > 0 for value in found.values())
    assert text == {"gemm": "default", **identity(corpus_folders(corpus))}


@pytest.mark.parametrize(
    ("module", "options", "num_tables"),
    [(tree_lstm, (*TREE_LSTM, "--hidden", "8"), 1), (frameworks, FRAMEWORKS, 2), (shards, (), 2)],
)
@pytest.mark.usefixtures("one_process")
def test_every_table_tells_what_ran(
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
    name, digest = identity(corpus_folders(corpus)).values()
    for table in tables:
        notes = [line for line in table.splitlines() if line.startswith("- ")]
        run = [line.partition(":")[0] for line in notes[-6:]]
        assert run == ["- command", "- commit", "- machine", "- versions", "- seed", "- corpus"]
        assert notes[-6] == f"- command: python -m {module.__name__} {' '.join(arguments)}"
        assert notes[-1] == f"- corpus: {name}, digest of its shards {digest}"


@pytest.mark.slow
def test_frameworks_need_only_what_a_bare_machine_has(corpus: Path) -> None:
    absent = ("safetensors", "luigi", "tqdm", "triton", "zstandard")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent})); "
        "from benchmarks.frameworks import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ("--device", "cpu", "--hidden", "8", "--steps", "1", "--warmup", "1")
    command = [sys.executable, "-c", code, "--corpus", str(corpus), *arguments]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)


@pytest.mark.parametrize("main", [tree_lstm.main, frameworks.main, shards.main])
def test_without_a_corpus_they_say_how_to_make_one(
    main: Callable[[list[str]], int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([]) == LACKING
    assert "run `make run` first" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a CUDA device")
@pytest.mark.parametrize("module", [evaluation, frameworks])
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
    assert "pip install pytorch-tree-lstm==0.1.3" in capsys.readouterr().err
