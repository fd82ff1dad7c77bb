"""Probing tasks derived from a corpus, as SentEval's files: read back, scored, never passed off."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from models.evaluation.build_probing import (
    PROTOCOL,
    SENTEVAL_FOLDER,
    read_summary,
    senteval_path,
    write_senteval_files,
)
from models.evaluation.comparison import compare
from models.evaluation.evaluation_settings import ProtocolConfig
from models.evaluation.probing_labels import Candidate
from models.evaluation.probing_sentences import SPLITS
from models.evaluation.probing_tasks import TASKS
from models.evaluation.resampling import Resampling
from models.evaluation.senteval_format import SPLITS as PROBING_SPLITS
from models.evaluation.task_data import (
    NOTE_NAME,
    AbsentDataError,
    DerivedNote,
    read_note,
    write_note,
)
from models.evaluation.task_registry import DERIVED
from models.evaluation.task_result import DataRecord, TaskResult, read_results
from models.report.comparison_table import comparison_table
from tests.support.command import subcommand
from tests.support.evaluation_examples import answers, result, task
from tests.support.probing_examples import built, sentence
from tests.support.senteval_files import load, rows, write_files

main = subcommand("evaluate")

CALLED = {task.name: task.evaluation_task for task in TASKS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("derived")
    built(path)
    return path


def lengths(sentences: list[str]) -> npt.NDArray[np.float64]:
    """An encoder that knows nothing but the number of tokens."""
    return np.eye(40)[[len(text.split()) for text in sentences]]


def exported(folder: Path, *, absent: dict[str, str] | None = None) -> Path:
    """Writes tense alone, four items a split, and returns the data folder."""
    items = [
        Candidate(
            sentence(
                f"it {verb} {number}", [2, 0, 2], "nsubj root obj", "PRP VBZ CD", [(0, 3, "S")]
            ),
            label,
        )
        for number in ("one", "two")
        for verb, label in (("was", "past"), ("is", "present"))
    ]
    chosen = {"tense": dict.fromkeys(SPLITS, items)}
    write_senteval_files(folder, chosen, absent or {}, corpus="tales-0a1b", parsers={})
    return folder


@pytest.mark.parametrize("name", CALLED)
def test_a_task_reads_back_with_its_sentences_and_labels(name: str, folder: Path) -> None:
    place = folder / "probing" / SENTEVAL_FOLDER
    lines = [
        line.split("\t")
        for line in (place / senteval_path(name)).read_text(encoding="utf-8").splitlines()
    ]
    classes = read_summary(folder / "probing")["tasks"][name]["classes"]

    read = load(CALLED[name], place)

    assert list(read.class_names) == classes
    assert read.derived_from == "corpus"
    for mark, split in PROBING_SPLITS.items():
        expected = [
            (*texts, classes.index(label)) for which, label, *texts in lines if which == mark
        ]
        assert rows(read, split) == expected, "in the order of the file"


def test_what_is_derived_is_what_is_built() -> None:
    assert set(CALLED.values()) == {task.name for task in DERIVED}
    assert senteval_path("tense") == Path("probing/past_present.txt")


def test_how_derived_tasks_are_scored_is_pinned(folder: Path) -> None:
    """Whoever changes it changes the digest of the probing data, and every figure on them."""
    asked = {"standardise": True, "penalties": [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0]}
    assert load("Tense", folder / "probing" / SENTEVAL_FOLDER).protocol == PROTOCOL == asked
    config, resampling = ProtocolConfig().on_data(asked), Resampling()
    assert (config.tolerance, config.max_steps) == (1e-6, 500)
    assert (resampling.num_resamples, resampling.seed, resampling.confidence) == (2000, 0, 0.95)


def test_a_line_is_split_class_and_tokens(tmp_path: Path) -> None:
    path = exported(tmp_path) / senteval_path("tense")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "tr\tpast\tit was one"
    assert [line.split("\t")[0] for line in lines] == ["tr"] * 4 + ["va"] * 4 + ["te"] * 4


def test_a_function_of_ones_own_is_scored_on_them(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(
        [
            *("--encoder", f"{__name__}:lengths", "--tasks", "SentLen,Tense"),
            *("--data", str(folder / "probing" / SENTEVAL_FOLDER), "--out", str(tmp_path / "out")),
            *("--threads", "1"),
        ]
    )

    printed = capsys.readouterr()
    assert code == 0, printed.err
    scored = read_results(tmp_path / "out")
    length, tense = scored["SentLen"], scored["Tense"]
    assert isinstance(length, TaskResult) and isinstance(tense, TaskResult)
    assert length.scores["accuracy"].value > 95
    assert tense.scores["accuracy"].low < 50 < tense.scores["accuracy"].high
    assert length.data.derived_from == "corpus"
    assert "| SentLen (derived) | accuracy |" in printed.out
    assert "SentLen, Tense: derived from corpus, other sentences" in printed.out
    assert "| SentLen |" not in printed.out


def test_all_of_derived_data_are_the_derived_tasks(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = folder / "probing" / SENTEVAL_FOLDER
    code = main(
        [
            *("--encoder", f"{__name__}:lengths", "--data", str(data), "--threads", "1"),
            *("--out", str(tmp_path / "out")),
        ]
    )

    assert code == 0, capsys.readouterr().err
    results = read_results(tmp_path / "out")
    scored = {name for name, one in results.items() if isinstance(one, TaskResult)}
    assert scored == {task.name for task in DERIVED}
    assert not results.keys() & {"BShift", "SOMO", "CoordInv"}
    passages = results["DC"]
    assert isinstance(passages, TaskResult)
    assert passages.outcome.width == 2 * 40
    assert passages.outcome.predictions.clusters is not None
    assert "| average of the derived tasks | accuracy |" in capsys.readouterr().out


def test_a_result_on_derived_data_does_not_replace_the_published_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    splits = ("tr", "va", "te")
    lines = [f"{s}\t{c}\t{c} it is {n}\n" for s in splits for c in "ab" for n in range(4)]
    write_files(tmp_path / "published", "past_present", {"all": "".join(lines)})
    derived = exported(tmp_path / "derived")
    arguments = ["--encoder", f"{__name__}:lengths", "--tasks", "Tense", "--out", str(tmp_path)]
    arguments += ["--threads", "1", "--data"]

    assert main([*arguments, str(tmp_path / "published")]) == 0
    assert "derived from" not in capsys.readouterr().out
    assert main([*arguments, str(derived)]) == 2
    error = capsys.readouterr().err
    assert "Tense.json: the result on another probing/past_present.txt" in error


def test_two_encoders_on_derived_data_are_compared_as_such() -> None:
    scored = result(answers(50, 0.8), task("Tense"))
    record = DataRecord("d0", "s0", derived_from="tales-0a1b")
    first = replace(scored, data=record)
    other = replace(scored.setup, encoder=replace(scored.setup.encoder, name="other", digest="x"))
    second = replace(first, setup=other)

    table = comparison_table(compare([{"Tense": first}], [{"Tense": second}]))

    assert "| Tense (derived) | accuracy |" in table
    assert "Tense: derived from tales-0a1b, other sentences" in table


def test_a_task_that_the_corpus_was_too_small_for_is_absent_for_that_reason(tmp_path: Path) -> None:
    folder = exported(tmp_path, absent={"tree_depth": "7 train sentences, 80 needed"})
    assert not (folder / senteval_path("tree_depth")).exists()
    with pytest.raises(AbsentDataError) as raised:
        load("TreeDepth", folder)
    assert str(raised.value) == (
        "TreeDepth: not derived from tales-0a1b: 7 train sentences, 80 needed"
    )


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = exported(tmp_path) / senteval_path("tense")
    path.write_text(path.read_text(encoding="utf-8").replace("past", "over"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"past_present.txt: not the file that derived.json"):
        load("Tense", tmp_path)


def test_a_file_that_the_note_does_not_name_is_refused(tmp_path: Path) -> None:
    folder = exported(tmp_path)
    source = folder / senteval_path("tense")
    source.with_name("subj_number.txt").write_bytes(source.read_bytes())
    with pytest.raises(ValueError, match="does not name it; build the probing data again"):
        load("SubjNum", folder)


def test_a_file_that_the_note_names_and_is_gone_calls_for_another_build(tmp_path: Path) -> None:
    folder = exported(tmp_path)
    (folder / senteval_path("tense")).unlink()
    with pytest.raises(AbsentDataError, match=r"Tense: no .*txt among the tasks derived"):
        load("Tense", folder)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "no note of derived tasks"),
        ("[]", "no note of derived tasks"),
        ('{"format": "treeviews derived tasks", "format_version": 1}', "no note of derived tasks"),
        (json.dumps({"format": "x", "format_version": 1, "corpus": "c", "files": {}}), "'x' of"),
    ],
)
def test_a_note_that_cannot_be_read_is_not_taken_for_none(
    tmp_path: Path, content: str, problem: str
) -> None:
    folder = exported(tmp_path)
    (folder / "probing" / NOTE_NAME).write_text(content)
    with pytest.raises(ValueError, match=problem):
        load("Tense", folder)


def test_a_note_survives_writing_and_names_its_corpus(tmp_path: Path) -> None:
    note = DerivedNote("tales-0a1b", {"past_present.txt": "f" * 64}, {"tree_depth.txt": "small"})
    write_note(tmp_path, note)
    assert read_note(tmp_path) == note
    with pytest.raises(ValueError, match="must name the corpus"):
        DerivedNote("", {})


def test_a_token_with_white_space_is_refused(tmp_path: Path) -> None:
    broken = replace(
        sentence("a b", [2, 0], "det root", "DT NN", [(0, 2, "NP")]), tokens=("a", "b\tc")
    )
    items = [Candidate(broken, "past")]
    chosen = {"tense": dict.fromkeys(SPLITS, items)}
    with pytest.raises(ValueError, match="d, sentence 0: a token is empty or has white space"):
        write_senteval_files(tmp_path, chosen, {}, corpus="tales-0a1b", parsers={})
    assert not list(tmp_path.rglob("*.txt"))


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    leftover = exported(tmp_path) / "probing" / "past_present.txt.7.unfinished"
    leftover.touch()
    exported(tmp_path)
    assert not leftover.exists()
