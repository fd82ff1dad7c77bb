"""Benchmarks over a small text end in one line of JSON and say what ran; no times are judged."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import bench, encode, tree_lstm
from benchmarks.comparison import compare
from benchmarks.contestants import Runner
from benchmarks.corpus import corpus_folders, identity
from benchmarks.harness import LACKING, MISTAKE
from tests.support.parsed_corpora import stories, write_corpus
from tests.support.repository import REPOSITORY
from tests.support.tiny_senteval import write_tiny_senteval

pytestmark = pytest.mark.usefixtures("machine_as_before")

TREE_LSTM = ("--sentences", "30", "--word-size", "6", "--repeats", "1", "--gemm", "default")
FRAMEWORKS = ("--hidden", "4", "--word-size", "6", "--rounds", "1", "--steps", "1")
EVALUATION = ("--encoder", "bag_of_words", "--poolings", "mean", "--folds", "3", "--cores", "1")


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Has all encoders measured in this process, as others take seconds to start."""
    here = partial(compare, start=lambda *which: nullcontext(Runner(*which)))
    monkeypatch.setattr(tree_lstm, "compare", here)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder, stories(8))
    return folder


def run(name: str, *arguments: str) -> int:
    """Runs a benchmark; returns its exit status."""
    status: int = importlib.import_module(f"benchmarks.{name}").main(list(arguments))
    return status


def last_line(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return figures


def write_text(folder: Path, lines: int) -> str:
    path = folder / "text.txt"
    sentences = (f"Sentence {number} is here, and it's short." for number in range(lines))
    path.write_text("\n".join([*sentences, "", "Sentence 0 is here, and it's short."]))
    return str(path)


# What they print.


def test_tree_lstm_ends_in_a_figure_for_each_comparison(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("treelstm", reason="compared with pytorch-tree-lstm: the extra bench")
    assert run("tree_lstm", "--corpus", str(corpus), *TREE_LSTM, "--hidden", "8", "12") == 0
    found = last_line(capsys)
    text = {key: found.pop(key) for key in ("gemm", "corpus", "corpus_digest")}
    assert set(found) == {
        f"{of}{end}"
        for hidden in (8, 12)
        for of in (
            *(f"dep_{hidden}_vs_pytorch_tree_lstm", f"dep_{hidden}_vs_autograd"),
            *(f"const_{hidden}_vs_autograd", f"seq_{hidden}_vs_nn_gru"),
        )
        for end in ("", "_cpu", "_same_gemm")
    }
    assert all(value > 0 for value in found.values())
    assert text == {"gemm": "default", **identity(corpus_folders(corpus))}


@pytest.mark.parametrize(
    ("name", "options", "num_tables"), [("frameworks", FRAMEWORKS, 2), ("shards", (), 2)]
)
def test_every_table_tells_what_ran(
    name: str,
    options: tuple[str, ...],
    num_tables: int,
    corpus: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("--corpus", str(corpus), *options)
    assert run(name, *arguments) == 0
    _, *tables = capsys.readouterr().out.split("## ")
    assert len(tables) == num_tables
    called, digest = identity(corpus_folders(corpus)).values()
    for table in tables:
        notes = [line for line in table.splitlines() if line.startswith("- ")][-6:]
        told = [line.partition(":")[0] for line in notes]
        assert told == ["- command", "- commit", "- machine", "- versions", "- seed", "- corpus"]
        assert notes[0] == f"- command: python -m benchmarks.{name} {' '.join(arguments)}"
        assert notes[-1] == f"- corpus: {called}, digest of its shards {digest}"


def test_evaluations_are_compared_on_every_task_that_learns_classes(
    tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn", reason="compared with scikit-learn: the extra bench")
    data = str(write_tiny_senteval(tmp_path))
    given = ("--data", data, "--tasks", "MR,TREC,SICK-E,STS13", "--converged", *EVALUATION)
    assert run("evaluation", *given) == 0
    output = capsys.readouterr().out
    for row in ("| MR |", "| TREC |", "| SICK-E |"):
        assert output.count(row) == 2  # as it comes, and converged
    assert "STS13" not in output.partition("command:")[0]  # nothing is learnt there
    figures = json.loads(output.splitlines()[-1])
    assert (figures["task"], figures["compared_with"]) == ("MR", "converged")
    assert figures["max_accuracy_difference"] == 0.0
    assert run("evaluation", "--corpus", str(corpus), *EVALUATION) == 0  # a task made of the text
    assert last_line(capsys)["nested_cv_vs_sklearn"] > 0


@pytest.mark.slow
def test_encoders_of_raw_text_and_of_shards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "STARTS", 1)
    text = ("--quick", "--text", write_text(tmp_path, 60))
    assert run("encode", "english-trees", *text) == 0
    encoded = last_line(capsys)
    assert encoded.pop("encoders") == ["english-trees"]
    assert encoded["sentences"] == 60 and all(value > 0 for value in encoded.values())
    assert encoded["trees_vs_parsers"] < 1
    assert encoded["first_call_seconds"] == encoded["english_trees_first_call_seconds"]
    assert run("embedding", "bag_of_words", "english-trees", *text) == 0
    embedded = last_line(capsys)
    assert embedded["bag_of_words_differing"] == 0
    assert embedded["english_trees_differing"] < 1e-4
    assert embedded["english_trees_vs_encode"] > 0


@pytest.mark.slow
def test_import_of_word_vectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gensim")
    given = ("--words", "2000", "--size", "10", "--folder", str(tmp_path))
    assert run("word_vectors", *given) == 0
    figures = last_line(capsys)
    assert figures["words"] == 2000 and figures["rows"] == 1000
    assert figures["vs_gensim"] > 0 and figures["memory_vs_gensim"] > 0
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_frameworks_need_only_what_a_bare_machine_has(corpus: Path) -> None:
    absent = ("safetensors", "luigi", "tqdm", "triton", "zstandard")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent})); "
        "from benchmarks.frameworks import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ("--device", "cpu", "--hidden", "4", "--rounds", "1", "--steps", "1")
    command = [sys.executable, "-c", code, "--corpus", str(corpus), *arguments]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)


# What is lacking, and mistakes.

CUDA = pytest.mark.skipif(torch.cuda.is_available(), reason="has a CUDA device")


@pytest.mark.parametrize(
    ("name", "arguments", "said", "status"),
    [
        *((name, "", "run `make run` first", LACKING) for name in ("frameworks", "shards")),
        pytest.param("frameworks", "--quick --device cuda", "finds no CUDA", LACKING, marks=CUDA),
        ("tree_lstm", "--corpus none", "pip install pytorch-tree-lstm==0.1.3", LACKING),
        ("encode", "--sentences 1", "give at least 20", MISTAKE),
        ("encode", "--text FEW", "3 distinct sentences", MISTAKE),
        ("encode", "--text missing.txt", "missing.txt", LACKING),
        ("encode", "no-such-encoder --text TEXT", "no-such-encoder", 1),
        ("encode", "random-1 random.1 --text TEXT", "'random-1' and 'random.1' would", MISTAKE),
        ("evaluation", "--data none", "no data of MR", LACKING),
        ("evaluation", "--corpus none", "no complete sentences", LACKING),
        ("evaluation", "--encoder what", "no such folder and no known name", LACKING),
    ],
)
def test_what_is_lacking_and_mistakes_are_told(
    name: str,
    arguments: str,
    said: str,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "treelstm", None)
    texts = {"FEW": 3, "TEXT": 30}
    given = [write_text(tmp_path, texts[one]) if one in texts else one for one in arguments.split()]
    defaults = EVALUATION if name == "evaluation" else ()
    assert run(name, *defaults, *given) == status
    assert said in capsys.readouterr().err.strip().splitlines()[-1]


# Quick runs, and the page of all of them.


def test_every_benchmark_with_a_quick_mode_is_on_the_page() -> None:
    modules = [
        importlib.import_module(f"benchmarks.{path.stem}")
        for path in (REPOSITORY / "benchmarks").glob("*.py")
        if "Benchmark(" in path.read_text(encoding="utf-8") and path.stem != "harness"
    ]
    quick = {module.__name__.rpartition(".")[2] for module in modules if module.main.quick}
    assert quick == set(bench.BENCHMARKS)


FAKES = {
    "measures": """import sys
assert sys.argv[1:2] == ["--quick"]
print("working", file=sys.stderr)
print("## A table\\n\\n- a note\\n")
print('{"rate": 3.5}')
""",
    "lacks": "import sys\nprint('no text here; run it first', file=sys.stderr)\nsys.exit(3)",
}


def test_what_one_lacks_is_told_on_the_page_and_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "benchmarks").mkdir()
    for name, code in {"__init__": "", **FAKES}.items():
        (tmp_path / "benchmarks" / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(bench, "BENCHMARKS", tuple(FAKES))
    assert bench.main(["--only", "lacks", "measures"]) == 0
    page, progress = capfd.readouterr()
    assert "- lacks: lacks something: no text here; run it first" in page
    assert re.search(r"\| measures \| measured \|", page)
    assert "# measures\n\n## A table\n\n- a note\n" in page
    assert json.loads(page.splitlines()[-1]) == {"measures": {"rate": 3.5}}
    assert "benchmark 2 of 2: measures\nworking\n" in progress
