"""``treeviews evaluate``: a table out, or one line that says what is wrong."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.command import subcommand
from tests.support.parsed_corpora import write_vectors
from tests.support.saved_models import write_model
from tests.support.tiny_senteval import write_tiny_senteval
from treeviews.models.evaluation.evaluation_settings import ProtocolConfig, results_folder
from treeviews.models.evaluation.representation import Representation, representation_named

main = subcommand("evaluate")
pytestmark = pytest.mark.usefixtures("one_thread")

OWN = """
import numpy as np

def letters(sentences):
    return np.array([[s.count(c) for c in "abcdefghij"] for s in sentences], dtype=float)

def wrong(sentences):
    return np.ones((1, 3))

def fails(sentences):
    raise RuntimeError("out of\\nmemory")
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_senteval(tmp_path_factory.mktemp("tiny") / "data")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the command is run from, which holds a module of the user's own."""
    (tmp_path / "own_letters.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own_letters", raising=False)
    return tmp_path


def command(data: Path, *more: str, encoder: str = "own_letters:letters") -> list[str]:
    common = ["--encoder", encoder, "--data", str(data), "--threads", "1", "--folds", "3"]
    return [*common, *more]


def test_an_own_function_is_scored_and_its_table_printed(
    data: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(data, "--tasks", "MR,SICK14,CR", "--name", "letters")) == 0

    printed = capsys.readouterr()
    assert "letters" in printed.out
    for task in ("MR", "SICK14"):
        assert f"| {task} " in printed.out
    assert "absent" in printed.out and "custrev" in printed.out
    assert printed.err.splitlines()[-2].startswith("100 %  ")
    folder = printed.err.splitlines()[-1].removeprefix("results: ")
    assert folder.startswith("results/own_letters-letters")
    results = here / folder
    assert {path.name for path in results.iterdir()} == {"MR.json", "SICK14.json", "CR.json"}


@pytest.mark.usefixtures("here")
def test_a_version_keeps_results(data: Path) -> None:
    call = command(data, "--tasks", "MR", "--encoder-version", "1")
    assert main(call) == 0
    (result,) = Path("results").glob("own_letters-letters-*/MR.json")
    before = result.stat().st_mtime_ns
    assert main(call) == 0
    assert result.stat().st_mtime_ns == before


def test_an_edited_function_is_neither_taken_for_the_old_one_nor_mixed_with_it(
    data: Path, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = command(data, "--tasks", "SICK14", "--encoder-version", "1")
    assert main([*call, "--out", "old"]) == 0
    # Of the same length, and perhaps within the same second, as edits may be.
    (here / "own_letters.py").write_text(OWN.replace("abcdefghij", "klmnopqrst"), encoding="utf-8")
    monkeypatch.delitem(sys.modules, "own_letters")
    shutil.rmtree(here / "__pycache__", ignore_errors=True)
    capsys.readouterr()

    assert main([*call, "--out", "old"]) == 2
    refusal = capsys.readouterr().err
    assert "SICK14.json: holds the result of another state of own_letters:letters" in refusal
    assert main([*call, "--out", "new"]) == 0

    old, new = (
        json.loads((here / folder / "SICK14.json").read_text(encoding="utf-8"))
        for folder in ("old", "new")
    )
    assert old["scores"] != new["scores"]
    sha256 = hashlib.sha256((here / "own_letters.py").read_bytes()).hexdigest()
    assert new["setup"]["encoder"]["digest"] == f"own_letters:letters-1-{sha256}"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--representation-changes", "{normalise}"],
            "'--representation-changes': must be a JSON",
        ),
        (["--representation-changes", '{"normalize": true}'], "normalize"),
        (["--folds", "1"], "num_folds must be at least 2, got 1"),
        (["--encoder", "own_letters:missing"], "has no attribute 'missing'"),
        (["--encoder", "own_letters:wrong"], r"gave shape [1, 3] for"),
        (["--encoder", "own_letters:fails"], "raised RuntimeError: out of memory"),
        (["--vectors", "nowhere", "--encoder", "bag_of_words"], "nowhere: no such word vectors"),
    ],
)
def test_a_mistake_is_a_sentence_and_exit_code_two(
    data: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = [] if "--tasks" in options else ["--tasks", "MR"]
    assert main(command(data, *tasks, *options)) == 2
    printed = capsys.readouterr()
    first, *rest = printed.err.splitlines()
    assert message in first and printed.out == ""
    assert len(rest) <= 1 and all(line.startswith(("help: ", "traceback: ")) for line in rest)


def test_what_is_scored_otherwise_goes_into_another_folder() -> None:
    name, plain, protocol = "own_letters:letters", Representation(), ProtocolConfig()
    found = [
        results_folder(name, plain, protocol),
        results_folder(name, plain, protocol.changed(num_folds=5)),
        results_folder(name, representation_named("multi-view"), protocol),
    ]
    assert str(found[0]) == "results/own_letters-letters"
    assert len(set(found)) == len(found)
    assert all(str(folder).startswith(f"{found[0]}-") for folder in found[1:])


def test_results_on_other_data_are_neither_mixed_in_nor_replaced(
    data: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = ("--encoder-version", "1", "--out", "out")
    assert main(command(data, "--tasks", "SICK14", *own)) == 0
    other = write_tiny_senteval(here / "other")
    test = other / "downstream/SICK/SICK_test_annotated.txt"
    test.write_text(test.read_text(encoding="utf-8").replace("the", "a"), encoding="utf-8")
    for tasks in ("SICK14", "MR"):
        assert main(command(other, "--tasks", tasks, *own)) == 2
        assert (
            "SICK14.json: holds the result of another file downstream/SICK"
            in capsys.readouterr().err
        )
    assert main(command(data, "--tasks", "MR", *own)) == 0


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("views", "message"),
    [
        ({"views": ["LIN"]}, "views: no view 'LIN'; the encoder's are 0-SEQ, 1-BOW"),
        ({"supervised_combine": "average"}, "views of different widths cannot be averaged"),
    ],
)
def test_views_that_cannot_be_are_found_before_anything_is_encoded(
    data: Path,
    views: dict[str, object],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    vectors = write_vectors(Path("vectors"), size=4)
    write_model(Path("n"), vectors, views=("SEQ", "BOW"), critic="bilinear")
    monkeypatch.setattr("treeviews.models.encoding.sentence_reader.SentenceReader.read", None)
    changes = ("--representation-changes", json.dumps(views))
    assert main(command(data, "--tasks", "MR", *changes, encoder="n")) == 2
    assert message in capsys.readouterr().err
