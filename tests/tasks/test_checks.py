"""What is said before a run begins: all mistakes at once, and nothing is made."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.luigi_builds import build
from tests.support.small_stages import Grain
from tests.support.stories import write_stories
from treeviews.command import main
from treeviews.tasks import (
    EmbedCorpus,
    ParseDependencies,
    RunAll,
    SplitSentences,
    TrainEncoders,
    checks,
)
from treeviews.tasks.checks import mistakes_in
from treeviews.tasks.experiments.tables import PaperTables, Sweep


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Any]:
    """A text of some four hundred sentences: enough to be split, and to be tried."""
    text = write_stories(tmp_path / "text", num_documents=4, num_sentences=100)
    return {"source": "files", "paths": str(text), "work_folder": tmp_path / "work"}


TOGETHER = (
    {
        "paths": ("nowhere", "nowhere: no such file"),
        "cleaning_changes": ({"x": 3}, "x"),
        "views": ("DEPP", "did you mean DEP?"),
        "changes": ({"hiden_size": 3}, "did you mean hidden_size?"),
        "further_seeds": (["a"], "further_seeds must be a list of whole numbers"),
        "probing_changes": ({"test_sise": 3}, "test_sise"),
        "protocol_changes": ({"folds": 3}, "folds"),
        "representation": ("plane", "plane"),
        "senteval_data": ("nowhere", "nowhere: no such folder"),
        "dependency_parser": (Path("nowhere"), "nowhere: no such folder or file"),
        "work_folder": (Path("/proc/nowhere"), "/proc: not writable"),
        "device": ("gpu", "unknown device 'gpu'"),
    },
    {
        "views": ("BOW,BOW", "nothing to train"),
        "vectors": (Path("nowhere"), "nowhere: not a file"),
        "threads": (-1, "threads must be 0 or more"),
        "limit": (200, "too short for any probing task"),
    },
    {"changes": ({"epochs": "many"}, "epochs")},
    {"preset": ("laptob", "did you mean laptop?")},
    {"views": ("BOW", "needs two views")},
    {"vector_changes": ({"size": 30}, "give --vectors corpus")},
)
"""Parameters that are wrong together -> what is said of each."""


@pytest.mark.parametrize("wrong", TOGETHER)
def test_all_that_is_wrong_is_told(
    wrong: dict[str, tuple[Any, str]], given: dict[str, Any]
) -> None:
    asked = given | {name: value for name, (value, _) in wrong.items()}
    told = mistakes_in(RunAll(**asked))
    for _, said in wrong.values():
        assert any(said in sentence for sentence in told), (said, sorted(told))


def test_a_run_that_can_be_is_not_refused(given: dict[str, Any]) -> None:
    assert mistakes_in(RunAll(**given)) == []


def test_a_command_tells_all_and_makes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--source", "files", "--paths", "nowhere", "--views", "DEPP", "--threads", "-1"]
    assert main(["run", *asked]) == 2
    first, *others = capsys.readouterr().err.splitlines()
    assert first == "error: 3 things are in the way of this run:"
    assert [line[:2] for line in others] == ["- "] * 3
    assert list(tmp_path.iterdir()) == []


def test_a_text_too_small_for_what_is_asked(tmp_path: Path, given: dict[str, Any]) -> None:
    one = given | {"paths": str(next(Path(given["paths"]).iterdir()))}
    assert any("--held-out-unit block" in told for told in mistakes_in(RunAll(**one)))
    in_blocks = mistakes_in(RunAll(**one, held_out_unit="block"))
    assert not any("one document" in told for told in in_blocks)
    (refusal,) = mistakes_in(TrainEncoders(**given, limit=1))
    assert "left to train on" in refusal
    empty = tmp_path / "a.txt"
    empty.touch()
    (refusal,) = mistakes_in(SplitSentences(**given | {"paths": str(empty)}))
    assert "a.txt: empty, so there is no text" in refusal


def test_what_is_not_used_need_not_be_there(
    tmp_path: Path, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrainEncoders.dependency_parser, "_default", tmp_path / "not-shipped")
    assert mistakes_in(TrainEncoders(**given, views="SEQ,LIN")) == []
    (refused,) = mistakes_in(TrainEncoders(**given, views="SEQ,DEP"))
    assert "not-shipped: no such folder" in refused


def test_what_is_done_needs_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = Grain(work_folder=tmp_path / "work")
    begun = Grain(work_folder=tmp_path / "work", kind="oats")
    assert build(done)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert mistakes_in(done) == []
    assert "not writable" in mistakes_in(begun)[0]


def test_a_gpu_is_missed_by_what_computes_on_one_here(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "num_gpus", lambda: 1)
    monkeypatch.setattr(checks, "find_spec", lambda name: object())
    second = given | {"device": "cuda:1"}
    on_ray = second | {"engine": "ray", "gpus_per_job": 0.25}
    unused = (SplitSentences(**second), ParseDependencies(**on_ray), EmbedCorpus(**on_ray))
    assert not any(map(mistakes_in, unused))
    assert mistakes_in(ParseDependencies(**given | {"device": "cuda"})) == []
    # What is trained is trained here, before the embedding.
    here = (ParseDependencies(**second), EmbedCorpus(**second))
    for task in (*here, EmbedCorpus(**on_ray, encoder="trained")):
        assert "has 1 CUDA device " in mistakes_in(task)[0]


@pytest.mark.parametrize(
    ("parameters", "library"),
    [({"engine": "ray"}, "ray"), ({"source": "hf", "paths": "", "dataset": "a/b"}, "datasets")],
)
def test_a_missing_library_is_told(
    given: dict[str, Any], parameters: dict[str, Any], library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = checks.find_spec
    monkeypatch.setattr(checks, "find_spec", lambda name: None if name == library else found(name))
    told = mistakes_in(SplitSentences(**given | parameters))
    assert any("pip install" in sentence for sentence in told)


def test_a_check_that_fails_itself_holds_up_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(task: object) -> None:
        raise RuntimeError("the file system does not answer")

    monkeypatch.setattr(Grain, "checks", lambda task: [lambda: fail(task)])
    assert mistakes_in(Grain(work_folder=tmp_path)) == []


def test_tables_check_what_they_train(given: dict[str, Any]) -> None:
    """A change that the default preset refuses may be right for the presets of a table."""
    assert mistakes_in(PaperTables(**given, changes={"bidirectional": True})) == []
    tables = PaperTables(**given, width=7), Sweep(**given, grid={"hidden_size": [4, 4]})
    told = [sentence for table in tables for sentence in mistakes_in(table)]
    assert any("hidden_size must be even" in sentence for sentence in told)
    assert any("the cell hidden_size 4 twice" in sentence for sentence in told)
