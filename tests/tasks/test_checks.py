"""What is said before a run begins: all mistakes at once, and nothing is made."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import Any

import luigi
import pytest

from tests.support.luigi_builds import build
from tests.support.small_stages import Grain
from tests.support.stories import write_stories
from treeviews.command import main
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS
from treeviews.tasks import (
    EmbedCorpus,
    EvaluateTask,
    ExpandVocabulary,
    PaperTables,
    ParseDependencies,
    RunAll,
    SplitSentences,
    Sweep,
    TableOfViewPairs,
    WriteReport,
    checks,
)
from treeviews.tasks.checks import mistakes_in
from treeviews.tasks.experiments.table_stages import seeds_of


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
        "work_folder": (Path("/dev/null/work"), "/dev/null: a file"),
        "device": ("gpu", "unknown device 'gpu'"),
    },
    {
        "views": ("BOW,BOW", "nothing to train"),
        "vectors": (Path("nowhere"), "nowhere: not a file"),
        "threads": (-1, "threads must be 0 or more"),
    },
    {"changes": ({"epochs": "many"}, "epochs")},
    {"views": ("BOW", "needs 2 views")},
    {"vector_changes": ({"size": 30}, "give --vectors corpus")},
)
"""Parameters that are wrong together -> what is said of each."""


FILES = {"source": "files", "paths": "a.txt"}
UMBC = {"source": "umbc", "paths": "a.tar"}
URL = {"source": "url", "url": "http://127.0.0.1/a.gz"}
DATASET = {"source": "hf", "dataset": ".", "text_field": "story"}
DERIVED = {"derived": True, "senteval_data": ""}
REFUSALS: tuple[tuple[type[luigi.Task], dict[str, Any], str], ...] = (
    # where text comes from
    (SplitSentences, {"source": "umbc"}, "give either --paths"),
    (SplitSentences, {"source": "hf"}, "give --dataset"),
    (SplitSentences, {"source": "hf", "dataset": "owner/name"}, "not the 40 digits of a commit"),
    (SplitSentences, URL | {"source": "amazon-books"}, "64 hexadecimal digits"),
    (SplitSentences, FILES | {"sha256": "0" * 64}, "leave --sha256 out, or give --source url"),
    # parsers
    (ParseDependencies, {"dependency_parser": "dep-biaffine-en"}, "biaffine-dep-en?"),
    (
        ParseDependencies,
        {"dependency_parser": BUNDLED_PARSERS["constituents"]},
        "gives constituents, not dependencies; give it as const",
    ),
    # training
    (WriteReport, {"changes": {"seed": 1}}, "seed: give it by --"),
    (ExpandVocabulary, {"expansion_changes": {"ridges": 1}}, "ridges"),
    # evaluation
    (EvaluateTask, {"encoder": "random-first"}, "did you mean random-0?"),
    (EvaluateTask, {"encoder": "expanded", "preset": "B-G"}, "word_vectors must be frozen"),
    (EvaluateTask, DERIVED, "--derived has no task MR; choose among"),
    (EvaluateTask, {"encoder": "pathlib:Path"}, "give --encoder-version"),
    (EvaluateTask, {"representation_changes": {"views": ["SEQ"]}}, "no view 'SEQ'"),
    # tables
    (TableOfViewPairs, {"changes": {"objective": "both"}}, "changes sets objective"),
    (TableOfViewPairs, {"seeds": ""}, "--seeds must be whole numbers"),
    (TableOfViewPairs, {"tasks": "MRR"}, "no evaluation task is named 'MRR'"),
    (TableOfViewPairs, {"second_corpus": {"path": "x"}}, "--second-corpus has path"),
    (PaperTables, {"width": 7}, "hidden_size must be even"),
    (Sweep, {"grid": {"hidden_size": [4]}, "width": 4}, "--grid sets hidden_size"),
    (Sweep, {"grid": {"width": [4]}}, "unknown training setting"),
)


@pytest.mark.parametrize(
    ("stage", "parameters", "said"),
    REFUSALS,
    ids=[f"{stage.__name__}: {said}" for stage, _, said in REFUSALS],
)
def test_a_mistake_is_told_before_any_work_begins(
    stage: type[luigi.Task], parameters: dict[str, Any], said: str, given: dict[str, Any]
) -> None:
    names = {name for name, _ in stage.get_params()}
    mine = {"source", "dataset", "encoding"} & set(parameters)
    base = {"work_folder": given["work_folder"]} if stage is SplitSentences and mine else given
    chosen = {name: value for name, value in base.items() if name in names}
    task = stage(**chosen | parameters)
    told = mistakes_in(task)
    try:
        task.complete()
    except (OSError, ValueError) as error:
        told.append(str(error))
    assert any(said in sentence for sentence in told), told


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
    assert first == "error: 3 problems keep this run from starting:"
    assert [line[:2] for line in others] == ["- "] * 3
    assert list(tmp_path.iterdir()) == []


SEVERAL: dict[str, tuple[str, ...]] = {
    "--preset laptob --device cuda:99 --workers 0": (
        *("did you mean laptop?", "device is cuda:99", "--workers must be at least 1"),
    ),
    "TrainEncoders --preset laptob --views DEPP --source files --paths nix": (
        *("did you mean laptop?", "did you mean DEP?", "nix: no such file"),
    ),
    """--changes '{"hidden_size": "big", "epochs": -1, "seed": 1, "name": 2, "self": 3}'""": (
        *("hidden_size must be a valid integer", "epochs must be at least 1, got -1"),
        *("seed: give it by --seed", "unknown training settings ['name', 'self']"),
    ),
    """TrainEncoders --changes '{"hidden_size": 5, "bidirectional": true, "run_length": 999}'""": (
        *("hidden_size must be even", "run_length must be at most"),
    ),
    "--held-out-fraction 1.5 --max-tokens -4": ("held_out_fraction must lie", "max_tokens -4"),
    "--source files": ("source is 'files': give --paths",),
    "--seed one --changes '{a: 1}' --source fils --paths x --log-level LOUD --views DEPP": (
        "--seed cannot be 'one': no whole number; give one such as 1",
        "--changes cannot be '{a: 1}': no JSON object; give one such as '{\"hidden_size\"",
        "--source cannot be 'fils': give one of amazon-books, bookcorpus, files, hf, python-docs, "
        "umbc, url; did you mean files?",
        "--log-level cannot be 'LOUD': give one of CRITICAL, DEBUG, ERROR",
        "did you mean DEP?",
    ),
    "TableOfViewPairs --random-seeds x --seeds '[0, y]' --paths nix": (
        *("--random-seeds must be whole", "--seeds must be whole", "paths is 'nix'"),
    ),
    "--further-seeds 1,b": ("no whole numbers; give them such as 1,2 or '[1, 2]'",),
    "DownloadCorpus --sha256 abc --gpus x": ("unrecognized arguments: --gpus",),
    "DownloadCorpus --url http://127.0.0.1/a --sha256 abc --work-folder /proc/nowhere": (
        *("'abc', not 64 hexadecimal digits", "/proc: not writable"),
    ),
    "CountVocabulary --max-words -1": ("max_words must be at least 0, got -1",),
}
"""Arguments of a run -> what is said, a sentence a mistake."""


@pytest.mark.parametrize("arguments", SEVERAL)
def test_each_mistake_of_a_command_is_one_sentence(
    arguments: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", *shlex.split(arguments)]) == 2
    told = capsys.readouterr().err
    listed = [line for line in told.splitlines() if line.startswith(("- ", "error: "))]
    assert len(listed) == len(SEVERAL[arguments]) + (len(SEVERAL[arguments]) > 1), told
    assert [words for words in SEVERAL[arguments] if words not in told] == []
    assert list(tmp_path.iterdir()) == []


def test_lists_of_numbers_are_written_with_or_without_brackets() -> None:
    seeds = dict(RunAll.get_params())["further_seeds"]
    assert [*map(seeds.parse, ("1,2", "[1, 2]", "[]", "3"))] == [(1, 2), (1, 2), (), (3,)]
    assert seeds_of("[0, 1]", "seeds") == seeds_of("0,1", "seeds") == (0, 1)


def test_changes_without_effect_are_warned_of_before_a_run(
    given: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert mistakes_in(RunAll(**given, changes={"decoder": "bijective", "epochs": 2})) == []
    told = caplog.messages
    assert told == ["--changes: decoder has no effect under the contrastive objective of DEP,CONST"]


def test_a_text_too_small_for_what_is_asked(tmp_path: Path, given: dict[str, Any]) -> None:
    one = given | {"paths": str(next(Path(given["paths"]).iterdir()))}
    assert any("--held-out-unit block" in told for told in mistakes_in(RunAll(**one)))
    in_blocks = mistakes_in(RunAll(**one, held_out_unit="block"))
    assert not any("one document" in told for told in in_blocks)
    empty = tmp_path / "a.txt"
    empty.touch()
    (refusal,) = mistakes_in(SplitSentences(**given | {"paths": str(empty)}))
    assert "a.txt: empty or not readable" in refusal


def forbidden(**where: object) -> str:
    raise PermissionError(13, "Permission denied")


def test_what_is_done_needs_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = Grain(work_folder=tmp_path / "work")
    begun = Grain(work_folder=tmp_path / "work", kind="oats")
    assert build(done)
    monkeypatch.setattr(tempfile, "mkdtemp", forbidden)
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
