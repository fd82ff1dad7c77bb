"""One encoder on one task: from SentEval's files to a result, by every protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models import evaluate_tasks
from models.config.views import Pooling
from models.encoding.encoder_interface import FloatArray
from models.evaluate_tasks import execute
from models.evaluation import representation as representation_module
from models.evaluation.evaluate_task import Evaluation, evaluate_task
from models.evaluation.evaluation_settings import PROTOCOL_VERSION, ProtocolConfig
from models.evaluation.representation import Representation
from models.evaluation.resampling import Resampling
from models.evaluation.task_registry import task_named
from models.evaluation.task_result import (
    AbsentResult,
    EncoderIdentity,
    TaskResult,
    read_result,
    read_results,
)
from pipeline.base.refusal import RefusedSentence
from tests.support.tiny_senteval import CountingEncoder, write_tiny_senteval

pytestmark = pytest.mark.usefixtures("one_thread")

IDENTITY = EncoderIdentity("letters", "letters-1")
FEW = ProtocolConfig(num_folds=3)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_senteval(tmp_path_factory.mktemp("tiny") / "data")


def evaluation(data: Path, encoder: CountingEncoder, **changes: Any) -> Evaluation:
    base = Evaluation(encoder, IDENTITY, data, protocol=FEW, resampling=Resampling(50))
    return replace(base, **changes)


def scored(name: str, made: Evaluation) -> TaskResult:
    result = evaluate_task(task_named(name), made)
    assert isinstance(result, TaskResult)
    return result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "counts", "scores", "num_chosen"),
    [
        ("MR", {"all": 80}, {"accuracy"}, 3),
        ("TREC", {"train": 60, "test": 20}, {"accuracy"}, 1),
        ("SST2", {"train": 50, "dev": 20, "test": 20}, {"accuracy"}, 1),
        ("SICK-E", {"train": 60, "dev": 20, "test": 30}, {"accuracy"}, 1),
        ("SICK-R", {"train": 60, "dev": 20, "test": 30}, {"pearson", "spearman", "mse"}, 1),
        ("SICK14", {"test": 30}, {"pearson_mean", "pearson_all", "spearman_weighted"}, 0),
        ("STS13", {"FNWN": 12, "headlines": 12, "OnWN": 12}, {"pearson_mean"}, 0),
    ],
)
@pytest.mark.parametrize("classifier", ["logistic_regression", "compatibility"])
def test_every_protocol_gives_a_whole_result(
    data: Path,
    name: str,
    counts: dict[str, int],
    scores: set[str],
    num_chosen: int,
    classifier: str,
) -> None:
    config = ProtocolConfig.from_dict({"classifier": classifier, "num_folds": 3})
    result = scored(name, evaluation(data, CountingEncoder(), protocol=config))

    assert result.outcome.counts == counts
    assert set(result.scores) >= scores
    for interval in result.scores.values():
        assert interval.low <= interval.value <= interval.high
    alone = name == "SICK-R" and classifier == "compatibility"  # it has no regulariser
    assert len(result.outcome.regularisers) == (0 if alone else num_chosen)
    assert (result.outcome.dev_score is None) == (num_chosen == 0)
    assert ("epochs" in result.outcome.details) == alone
    assert result.outcome.width == (52 if name in {"SICK-R", "SICK-E"} else 26)
    assert set(result.seconds) == {"load", "embed", "embed_when_computed", "fit"}
    assert result.setup.encoder == IDENTITY
    assert result.setup.learns == (num_chosen > 0)
    assert result.setup.classifier["protocol_version"] == PROTOCOL_VERSION
    assert result.setup.classifier["batch_items"] == 128
    assert all(len(sha256) == 64 for sha256 in result.data.files.values())


def test_sentences_of_a_dataset_are_embedded_once_for_all_its_tasks(data: Path) -> None:
    encoder = CountingEncoder()
    kept = evaluation(data, encoder)
    for name in ("SICK-R", "SICK-E", "SICK14"):
        scored(name, kept)
    assert len(encoder.asked) == 1
    assert len(set(encoder.asked[0])) == len(encoder.asked[0])
    scored("MR", kept)
    assert len(encoder.asked) == 2


def test_absent_data_is_a_result_that_says_what_is_missing(tmp_path: Path) -> None:
    write_tiny_senteval(tmp_path, without=["MR"])
    encoder = CountingEncoder()
    result = evaluate_task(task_named("MR"), evaluation(tmp_path, encoder))
    assert isinstance(result, AbsentResult)
    assert "rt-polarity.pos" in result.reason and "download" in result.reason
    assert encoder.asked == []


class Refusing(CountingEncoder):
    """Gives zeros for sentences of the mouse, as an encoder whose parser cannot take them."""

    refused: Sequence[RefusedSentence] = ()

    def encode(self, sentences: Sequence[str]) -> FloatArray:
        self.refused = [
            RefusedSentence(i, "parser_error", "")
            for i, text in enumerate(sentences)
            if "mouse" in text
        ]
        told = np.array([["mouse" not in text] for text in sentences])
        found: FloatArray = np.where(told, super().encode(sentences), 0.0).astype(np.float32)
        return found


def test_refused_sentences_are_counted(data: Path) -> None:
    encoder = Refusing()
    result = scored("MR", evaluation(data, encoder, max_refused=1.0))
    assert result.data.num_refused == len(encoder.refused) > 0
    assert result.data.num_sentences == len(encoder.asked[0])


OWN_REFUSING = """
import numpy as np
from pipeline.base.refusal import RefusedSentence

class Mouse:
    digest = "mouse"
    refused = ()

    def encode_views(self, sentences, pooling=("last",)):
        self.refused = [
            RefusedSentence(i, "parser_error", "")
            for i, text in enumerate(sentences)
            if "mouse" in text
        ]
        lengths = np.array([[len(text), "cat" in text] for text in sentences], dtype=np.float32)
        return {f"0-SEQ.{pool}": lengths for pool in pooling}

    def encode(self, sentences):
        return self.encode_views(sentences)["0-SEQ.last"]
"""


def test_zeros_in_any_number_are_asked_for_and_not_handed_back_unasked(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_refusing.py").write_text(OWN_REFUSING, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    job = job_of(data, tmp_path, tasks=["MR"], encoder="own_refusing:Mouse")
    del job["encoder_version"]
    job["encoder_settings"] = {"on_refusal": "zero"}
    run(job)
    found = read_result(tmp_path / "results/MR.json")
    assert isinstance(found, TaskResult) and found.data.refused_share > 0.1
    with pytest.raises(ValueError, match="MR: the encoder refuses"):
        run(job | {"encoder_settings": {}})


def test_words_are_joined_beside_the_views(data: Path) -> None:
    class Words:
        digest = "words"

        def encode(self, sentences: Sequence[str]) -> FloatArray:
            raise AssertionError("its mean is asked for by name")

        def encode_views(
            self, sentences: Sequence[str], pooling: Sequence[Pooling] = ("last",)
        ) -> dict[str, FloatArray]:
            assert list(pooling) == ["mean"]
            return {"words.mean": np.ones((len(sentences), 4), dtype=np.float32)}

    joined = Representation(join_words=True)
    made = evaluation(data, CountingEncoder(), representation=joined)
    with pytest.raises(ValueError, match="join_words needs a bag of words"):
        evaluate_task(task_named("MR"), made)
    assert scored("MR", replace(made, words=Words())).outcome.width == 30


# The job: results as files.

OWN = """
import numpy as np
asked = []

def letters(sentences):
    asked.append(len(sentences))
    return np.array([[s.count(c) for c in "abcdefghij"] for s in sentences], dtype=float)

def others(sentences):
    asked.append(len(sentences))
    return np.array([[s.count(c) for c in "klmnopqrst"] for s in sentences], dtype=float)
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the batches that the functions of `OWN` were given."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "tiny_own.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(__import__("sys").modules, "tiny_own", raising=False)
    module = __import__("tiny_own")
    found: list[int] = module.asked
    return found


def job_of(data: Path, out: Path, **changes: Any) -> dict[str, Any]:
    job = {
        "encoder": "tiny_own:letters",
        "tasks": ["MR", "SICK-E"],
        "data": str(data),
        "out": str(out / "results"),
        "protocol": {"num_folds": 3},
        "encoder_settings": {"batch_size": 0},
        "encoder_version": "1",
    }
    return job | changes


def run(job: Mapping[str, Any]) -> list[str]:
    said: list[str] = []
    execute(job, lambda _, status: said.append(status))
    return said


def test_a_second_run_scores_nothing(
    data: Path, tmp_path: Path, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(data, tmp_path)
    first = run(job)
    assert len(asked) == 2 and [said.split(":")[0] for said in first] == ["MR", "SICK-E"]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()}

    monkeypatch.setattr(evaluate_tasks, "evaluate_task", None)  # a call would fail
    assert run(job) == first
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()} == before


@pytest.mark.slow
def test_a_function_without_a_version_is_scored_again_and_embedded_once_a_run(
    data: Path, tmp_path: Path, asked: list[int]
) -> None:
    job = job_of(data, tmp_path, tasks=["SICK-R", "MR", "SICK-E", "SICK14"])
    del job["encoder_version"]
    said = run(job)
    assert [status.split(":")[0] for status in said] == ["SICK-R", "SICK-E", "SICK14", "MR"]
    assert len(asked) == 2
    run(job)
    assert len(asked) == 4


def test_changed_data_is_scored_again(tmp_path: Path, asked: list[int]) -> None:
    data = write_tiny_senteval(tmp_path / "data")
    job = job_of(data, tmp_path, tasks=["MR"])
    run(job)
    path = data / "downstream/MR/rt-polarity.pos"
    path.write_text(path.read_text(encoding="latin-1") + "the cow sees\n", encoding="latin-1")
    run(job)
    assert len(asked) == 2
    result = read_result(tmp_path / "results/MR.json")
    assert isinstance(result, TaskResult) and result.outcome.counts == {"all": 81}


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"encoder": "tiny_own:others"}, "encoder"),
        ({"encoder_version": "2"}, "state of tiny_own:letters"),
        ({"seed": 3}, "name or seed of the encoder"),
        ({"name": "mine"}, "name or seed of the encoder"),
        ({"protocol": {"num_folds": 4}}, r"classifier \(num_folds\)"),
        ({"representation": {"normalise": True}}, "representation"),
    ],
)
@pytest.mark.parametrize("task", ["MR", "TREC"])
def test_a_folder_of_another_evaluation_is_refused_whatever_the_task(
    data: Path, tmp_path: Path, change: dict[str, Any], what: str, task: str
) -> None:
    run(job_of(data, tmp_path, tasks=["MR"]))
    with pytest.raises(ValueError, match=rf"MR\.json: holds the result of another {what}.*choose"):
        run(job_of(data, tmp_path, tasks=[task], **change))
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["MR.json"]


@pytest.mark.usefixtures("asked")
def test_results_of_an_earlier_version_are_made_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(data, tmp_path, tasks=["MR", "SICK14"])
    run(job)
    monkeypatch.setattr("models.evaluation.evaluate_task.PROTOCOL_VERSION", 99)
    with pytest.raises(ValueError, match=r"SICK14\.json: .*version.*; evaluate SICK14 again, too"):
        run(job | {"tasks": ["MR"]})
    run(job)
    found = read_results(tmp_path / "results").values()
    assert [result.setup.classifier["protocol_version"] for result in found] == [99, 99]


@pytest.mark.usefixtures("asked")
def test_absent_tasks_are_written_and_scored_when_their_data_come(tmp_path: Path) -> None:
    data = write_tiny_senteval(tmp_path / "data", without=["MR"])
    job = job_of(data, tmp_path)
    assert run(job)[0] == "MR: absent"
    found = read_results(tmp_path / "results")
    assert [type(found[name]) for name in ("MR", "SICK-E")] == [AbsentResult, TaskResult]

    write_tiny_senteval(data)
    assert run(job)[0].startswith("MR: accuracy")


@pytest.mark.usefixtures("asked")
def test_each_task_may_have_a_folder_of_its_own(data: Path, tmp_path: Path) -> None:
    job = job_of(data, tmp_path, tasks=["MR", "SICK14"])
    folders = {name: str(tmp_path / "own" / name) for name in ("MR", "SICK14")}
    run({**job, "out": folders})
    assert {name: set(read_results(Path(folders[name]))) for name in folders} == {
        "MR": {"MR"},
        "SICK14": {"SICK14"},
    }
    with pytest.raises(ValueError, match="out names no folder for SICK14"):
        run({**job, "out": {"MR": folders["MR"]}})


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "MR"}, r"the job has unknown keys \['task'\]; known: "),
        ({"tasks": ["MRS"]}, "MRS"),
        ({"encoder_settings": {"batch": 3}}, r"unknown encoder settings \['batch'\]"),
        ({"protocol": {"num_folds": 1}}, "num_folds must be at least 2"),
        ({"representation": {"normalize": True}}, "normalize"),
    ],
)
def test_a_job_that_cannot_be_is_refused(
    data: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        run(job_of(data, tmp_path, **change))
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["MR", "TREC", "SST2"])
def test_what_a_wider_projection_adds_no_dimension_to_is_learnt_at_its_own_width(
    data: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = Representation(project_to_width=300)
    placed = scored(name, evaluation(data, CountingEncoder(), representation=wide))
    monkeypatch.setattr(
        representation_module, "projected_in_place", representation_module.random_projection
    )
    whole = scored(name, evaluation(data, CountingEncoder(), representation=wide))

    assert placed.outcome.width == whole.outcome.width == 300
    assert placed.outcome.regularisers == whole.outcome.regularisers
    assert placed.outcome.predictions.predicted.tolist() == (
        whole.outcome.predictions.predicted.tolist()
    )
