"""One encoder on tasks: from SentEval's files to results, by every protocol, and once only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.tiny_senteval import CountingEncoder, write_tiny_senteval
from treeviews.models import evaluate_tasks
from treeviews.models.config.views import Pooling
from treeviews.models.encoding.search import FloatArray
from treeviews.models.evaluate_tasks import execute
from treeviews.models.evaluation.evaluate_task import Evaluation, evaluate_task
from treeviews.models.evaluation.evaluation_settings import PROTOCOL_VERSION, EvaluationSettings
from treeviews.models.evaluation.task_registry import task_named
from treeviews.models.evaluation.task_result import (
    AbsentResult,
    EncoderIdentity,
    TaskResult,
    read_result,
    read_results,
)
from treeviews.pipeline.base.refusal import RefusedSentence

pytestmark = pytest.mark.usefixtures("one_thread")

IDENTITY = EncoderIdentity("letters", "letters-1")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_senteval(tmp_path_factory.mktemp("tiny") / "data")


def evaluation(data: Path, encoder: CountingEncoder, **changes: Any) -> Evaluation:
    fields = {"protocol": {"num_folds": 3}, "out": Path("results"), "tasks": []} | changes
    settings = EvaluationSettings.from_dict({"encoder": "letters", "data": data} | fields)
    return Evaluation(settings, encoder, IDENTITY)


def scored(name: str, made: Evaluation) -> TaskResult:
    result = evaluate_task(task_named(name), made)
    assert isinstance(result, TaskResult)
    return result


@pytest.mark.parametrize(
    ("name", "counts", "num_chosen", "width"),
    [
        ("MR", {"all": 80}, 3, 26),
        ("SICK-R", {"train": 60, "dev": 20, "test": 30}, 1, 52),
        ("STS13", {"FNWN": 12, "headlines": 12, "OnWN": 12}, 0, 26),
    ],
)
def test_every_protocol_gives_a_whole_result(
    data: Path, name: str, counts: dict[str, int], num_chosen: int, width: int
) -> None:
    result = scored(name, evaluation(data, CountingEncoder()))
    outcome = result.outcome
    assert (outcome.counts, len(outcome.regularisers)) == (counts, num_chosen)
    assert (outcome.dev_score is None, outcome.width) == (num_chosen == 0, width)
    assert all(one.low <= one.value <= one.high for one in result.scores.values())
    assert result.setup.classifier["protocol_version"] == PROTOCOL_VERSION
    assert all(len(sha256) == 64 for sha256 in result.data.files.values())


# Embeddings.


class Views:
    """An encoder with views that cannot take sentences of the mouse."""

    digest, has_views = "views", True
    refused: tuple[RefusedSentence, ...] = ()

    def widths(self, pooling: Sequence[Pooling]) -> dict[str, int]:
        return {f"0-DEP.{p}": 2 for p in pooling}

    def encode_views(
        self, sentences: Sequence[str], pooling: Sequence[Pooling] = ("last",)
    ) -> dict[str, FloatArray]:
        mice = [i for i, sentence in enumerate(sentences) if "mouse" in sentence]
        self.refused = tuple(RefusedSentence(i, "parser_error", "mouse") for i in mice)
        lengths = np.array([[len(text), "cat" in text] for text in sentences], np.float32)
        return {f"0-DEP.{p}": lengths for p in pooling}


# The job: results as files.


def job_of(data: Path, folder: Path, /, **changes: Any) -> dict[str, Any]:
    """Returns a job; its encoder is given beside it, by another name."""
    job = {
        "encoder": "english",
        "tasks": ["MR", "SICK-E"],
        "data": str(data),
        "out": folder / "results",
        "protocol": {"num_folds": 3},
        "encoder_version": "1",
    }
    return job | changes


def run(job: Mapping[str, Any], encoder: Any = None) -> list[str]:
    said: list[str] = []
    encoder = encoder or CountingEncoder()
    settings = EvaluationSettings.from_dict(job)
    execute(settings, lambda _, status: said.append(status), encoder=encoder)
    return said


def test_a_second_run_scores_nothing(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(data, tmp_path)
    first = run(job)
    assert [said.split(":")[0] for said in first] == ["MR", "SICK-E"]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()}

    monkeypatch.setattr(evaluate_tasks, "evaluate_task", None)  # a call would fail
    assert run(job) == first
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()} == before


def test_a_function_without_a_version_is_scored_again_and_embedded_once_a_run(
    data: Path, tmp_path: Path
) -> None:
    encoder = CountingEncoder()
    job = job_of(data, tmp_path, tasks=["SICK14", "STS13", "SICK-E"], encoder_version=None)
    said = run(job, encoder)
    assert [status.split(":")[0] for status in said] == ["SICK14", "SICK-E", "STS13"]
    assert len(encoder.asked) == 2 and len({*encoder.asked[0]}) == len(encoder.asked[0])
    run(job, encoder)
    assert len(encoder.asked) == 4


def test_zeros_in_any_number_are_asked_for_and_not_handed_back_unasked(
    data: Path, tmp_path: Path
) -> None:
    job = job_of(data, tmp_path, tasks=["SICK14"], encoder_version=None)
    run(job | {"encoder_settings": {"on_refusal": "zero"}}, Views())
    found = read_result(tmp_path / "results/SICK14.json")
    assert isinstance(found, TaskResult) and found.data.refused_share > 0.1
    with pytest.raises(ValueError, match="SICK14: the encoder refuses"):
        run(job, Views())


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"encoder": "bag_of_words"}, "encoder"),
        ({"encoder_version": "2"}, "state of english"),
        ({"seed": 3}, "name or seed of the encoder"),
        ({"protocol": {"batch_items": 4}}, r"classifier \(batch_items\)"),
        ({"representation": {"normalise": True}}, "representation"),
    ],
)
def test_a_folder_of_another_evaluation_is_refused_whatever_the_task(
    data: Path, tmp_path: Path, change: dict[str, Any], what: str
) -> None:
    run(job_of(data, tmp_path, tasks=["SICK14"]))
    for task in ("SICK14", "TREC"):
        said = rf"SICK14\.json: holds the result of another {what}.*choose"
        with pytest.raises(ValueError, match=said):
            run(job_of(data, tmp_path, tasks=[task], **change))
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["SICK14.json"]


def test_results_of_an_earlier_version_are_made_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(data, tmp_path, tasks=["STS13", "SICK14"])
    run(job)
    monkeypatch.setattr("treeviews.models.evaluation.evaluate_task.PROTOCOL_VERSION", 99)
    with pytest.raises(ValueError, match=r"SICK14\.json: .*version.*; evaluate SICK14 again, too"):
        run(job | {"tasks": ["STS13"]})
    run(job)
    found = read_results(tmp_path / "results").values()
    assert [result.setup.classifier["protocol_version"] for result in found] == [99, 99]


def test_absent_or_changed_data_are_scored_when_they_are_there(tmp_path: Path) -> None:
    data = write_tiny_senteval(tmp_path / "data", without=["MR"])
    folders = {name: str(tmp_path / "own" / name) for name in ("MR", "SICK14")}
    job = job_of(data, tmp_path, tasks=["MR", "SICK14"], out=folders)
    assert run(job)[0] == "MR: absent"
    absent = read_results(Path(folders["MR"]))["MR"]
    assert isinstance(absent, AbsentResult)
    assert "rt-polarity.pos" in absent.reason and "download" in absent.reason

    write_tiny_senteval(data)
    assert run(job)[0].startswith("MR: accuracy")
    path = data / "downstream/MR/rt-polarity.pos"
    path.write_text(path.read_text(encoding="latin-1") + "the cow sees\n", encoding="latin-1")
    run(job)
    result = read_results(Path(folders["MR"]))["MR"]
    assert isinstance(result, TaskResult) and result.outcome.counts == {"all": 81}
