"""MTEB's tasks on local data: its own scores, our intervals, no network."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("mteb", reason="mteb is not installed")

from models.encoding.named_encoder import resolve_encoder
from models.evaluate_mteb import divided, execute
from models.evaluation.comparison import compare
from models.evaluation.evaluate_task import Evaluation, evaluate_task
from models.evaluation.representations.representation import Representation
from models.evaluation.scores import main_metric, score
from models.evaluation.task_result import EncoderIdentity, TaskResult, read_results
from models.evaluation.tasks.declarations import task_named
from models.evaluation_request import EvaluationRequest, evaluate
from models.mteb.evaluate import evaluate_mteb
from models.mteb.senteval import write_mteb_data
from models.report.evaluation_table import evaluation_table
from tests.support import mteb_data
from tests.support.tiny_senteval import write_tiny_senteval


def evaluation(encoder: Any = None, **changes: Any) -> Evaluation:
    encoder = encoder or mteb_data.WordSums()
    identity = EncoderIdentity("sums", getattr(encoder, "digest", "sums"))
    return Evaluation(encoder=encoder, identity=identity, data_folder=Path(), **changes)


class SevenLines:
    """The wrapper that MTEB's own pages show, of the same vectors."""

    def __init__(self) -> None:
        from mteb.models import ModelMeta

        self.mteb_model_meta = ModelMeta.create_empty({"name": "x/y", "revision": "1"})

    def encode(self, inputs: Any, **_: Any) -> Any:
        texts = [text for batch in inputs for text in batch["text"]]
        return mteb_data.WordSums().encode(texts)

    def similarity(self, a: Any, b: Any) -> Any:
        from mteb.similarity_functions import cos_sim

        return cos_sim(a, b)

    def similarity_pairwise(self, a: Any, b: Any) -> Any:
        from mteb.similarity_functions import pairwise_cos_sim

        return pairwise_cos_sim(a, b)


def given_by_hand(name: str) -> Any:
    """Returns a task whose data are set, not loaded, as MTEB keeps them in memory."""
    import mteb
    from datasets import Dataset, DatasetDict

    def table(rows: mteb_data.Rows) -> Any:
        return Dataset.from_list(rows)

    subsets = {"hf_subsets": ["en-en", "es-en"]} if name == mteb_data.MANY_STS else {}
    task = mteb.get_task(name, **subsets)
    pairs = [
        {"sentence1": row["sent1"], "sentence2": row["sent2"], "labels": row["labels"]}
        for row in mteb_data.duplicates(50, 3)
    ]
    task.dataset = {
        mteb_data.STS: lambda: DatasetDict(test=table(mteb_data.graded(40, 0))),
        mteb_data.MANY_STS: lambda: {
            "en-en": DatasetDict(test=table(mteb_data.graded(30, 1))),
            "es-en": DatasetDict(test=table(mteb_data.graded(30, 2))),
        },
        mteb_data.PAIRS: lambda: DatasetDict(test=table(pairs)),
        mteb_data.CLASSIFICATION: lambda: DatasetDict(
            train=table(mteb_data.labelled(60, 4)), test=table(mteb_data.labelled(45, 5))
        ),
        mteb_data.CLUSTERING: lambda: DatasetDict(test=table(mteb_data.sets(4, 6))),
        mteb_data.RERANKING: lambda: {"default": {"test": reranked(mteb_data.rerankings(12, 7))}},
        mteb_data.RETRIEVAL: lambda: {"default": {"test": retrieved()}},
    }[name]()
    task.data_loaded = True
    return task


def reranked(rows: mteb_data.Rows) -> Any:
    from datasets import Dataset

    documents, queries, judged, ranked = [], [], {}, {}
    for number, row in enumerate(row for row in rows if row["positive"]):
        queries.append({"id": f"q{number}", "text": row["query"]})
        names = []
        for place, text in enumerate(row["positive"] + row["negative"]):
            # "a" before "n": equal scores are ranked as in MTEB's own conversion
            kind = "a" if place < len(row["positive"]) else "n"
            names.append(f"{kind}_{number}_{place:05}")
            documents.append({"id": names[-1], "title": "", "text": text})
        ranked[f"q{number}"] = names
        judged[f"q{number}"] = {name: int(name.startswith("a")) for name in names}
    return {
        "corpus": Dataset.from_list(documents),
        "queries": Dataset.from_list(queries),
        "relevant_docs": judged,
        "top_ranked": ranked,
    }


def retrieved() -> Any:
    from datasets import Dataset

    documents, queries, lines = mteb_data.corpus(8)
    judged: dict[str, dict[str, int]] = {}
    for line in lines:
        judged.setdefault(line["query-id"], {})[line["corpus-id"]] = line["score"]
    return {
        "corpus": Dataset.from_list([{**row, "id": row["_id"]} for row in documents]),
        "queries": Dataset.from_list([{**row, "id": row["_id"]} for row in queries]),
        "relevant_docs": judged,
        "top_ranked": None,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mteb_data.write_mteb_folder(tmp_path_factory.mktemp("mteb"))


@pytest.fixture(scope="module")
def results(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, TaskResult]:
    out = tmp_path_factory.mktemp("results")
    found = evaluate_mteb(evaluation(), folder, mteb_data.TASKS, out)
    return {result.task.name: result for result in found}


@pytest.mark.parametrize("name", mteb_data.TASKS)
def test_the_score_is_that_of_mteb_itself(results: dict[str, TaskResult], name: str) -> None:
    import mteb

    expected = mteb.evaluate(SevenLines(), given_by_hand(name), cache=None, show_progress_bar=False)
    result = results[f"mteb-{name}"]
    figure = result.scores[main_metric(result.task)]
    assert figure.value == pytest.approx(100 * expected.task_results[0].get_score(), abs=1e-9)
    assert figure.low <= figure.value <= figure.high
    assert figure.high - figure.low > 1.0, "else the test's data have no spread"


@pytest.mark.parametrize(
    ("name", "items"),
    [
        (mteb_data.STS, {"pairs": 40}),
        (mteb_data.MANY_STS, {"pairs": 60}),
        (mteb_data.PAIRS, {"pairs": 50}),
        (mteb_data.CLASSIFICATION, {"test texts": 45}),
        (mteb_data.CLUSTERING, {"sets of texts": 4}),
        (mteb_data.RERANKING, {"queries": 11}),
        (mteb_data.RETRIEVAL, {"queries": 10}),
    ],
)
def test_the_interval_draws_items(
    results: dict[str, TaskResult], name: str, items: dict[str, int]
) -> None:
    result = results[f"mteb-{name}"]
    assert dict(result.outcome.counts) == items
    own = score(result.task, result.outcome.predictions)[main_metric(result.task)]
    assert own == pytest.approx(result.scores[main_metric(result.task)].value, abs=1e-3)


def test_a_task_of_several_subsets_gives_each(results: dict[str, TaskResult]) -> None:
    scores = results["mteb-STS17"].scores
    mean = np.mean([scores["spearman:en-en"].value, scores["spearman:es-en"].value])
    assert scores["spearman_mean"].value == pytest.approx(mean)


@pytest.mark.slow
def test_all_are_the_tasks_that_there_are_data_of(folder: Path, tmp_path: Path) -> None:
    found = evaluate_mteb(evaluation(), folder, ["all"], tmp_path)
    assert {result.task.name for result in found} == {f"mteb-{name}" for name in mteb_data.TASKS}


def test_no_connection_is_opened_and_the_environment_stays(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets
    from huggingface_hub import constants

    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    before = dict(os.environ), constants.HF_HUB_OFFLINE, datasets.config.HF_DATASETS_CACHE
    evaluate_mteb(evaluation(), folder, [mteb_data.STS, mteb_data.RETRIEVAL], tmp_path)
    after = dict(os.environ), constants.HF_HUB_OFFLINE, datasets.config.HF_DATASETS_CACHE
    assert after == before


def test_a_result_that_stands_is_not_made_again(folder: Path, tmp_path: Path) -> None:
    job = {"encoder": "bag_of_words", "tasks": [mteb_data.STS], "data": folder, "out": tmp_path}
    execute(job, lambda fraction, status: None)
    path = tmp_path / f"mteb-{mteb_data.STS}.json"
    first = path.stat().st_mtime_ns
    execute(job, lambda fraction, status: None)
    assert path.stat().st_mtime_ns == first
    other = mteb_data.write_mteb_folder(tmp_path / "other")
    mteb_data.write_rows(other / mteb_data.STS / "test.jsonl", mteb_data.graded(40, 9))
    execute({**job, "data": other}, lambda fraction, status: None)
    assert path.stat().st_mtime_ns > first


def test_results_stand_beside_those_of_senteval(folder: Path, tmp_path: Path) -> None:
    encoder = resolve_encoder("bag_of_words")
    senteval, pairs = write_tiny_senteval(tmp_path / "senteval"), tmp_path / "pairs"
    assert write_mteb_data(senteval, pairs)["SICK-R"] > 0
    run = evaluation(encoder)
    for name in ("STS13", "SICK14"):
        ours = evaluate_task(
            task_named(name), Evaluation(encoder, run.identity, data_folder=senteval)
        )
        (theirs,) = evaluate_mteb(run, pairs, ["SICK-R" if name == "SICK14" else name], tmp_path)
        assert isinstance(ours, TaskResult)
        # MTEB's cosines are of single precision
        assert ours.scores["spearman_all"].value == pytest.approx(
            theirs.scores["spearman_mean"].value, abs=1e-3
        )


def test_a_folder_of_both_is_one_table(folder: Path, tmp_path: Path) -> None:
    senteval, out = write_tiny_senteval(tmp_path / "senteval"), tmp_path / "out"
    from models.evaluate_tasks import execute as execute_senteval

    job = {"encoder": "bag_of_words", "out": str(out)}
    say = lambda fraction, status: None  # noqa: E731
    execute_senteval({**job, "tasks": ["MR", "STS13"], "data": str(senteval)}, say)
    execute({**job, "tasks": [mteb_data.STS, mteb_data.RETRIEVAL], "data": str(folder)}, say)
    execute_senteval({**job, "tasks": ["MR"], "data": str(senteval)}, say)
    table = evaluation_table([out])
    for row in ("| MR | accuracy |", "| mteb-STSBenchmark | spearman_mean |"):
        assert row in table
    assert "mteb-STSBenchmark, mteb-SciFact: scored by MTEB" in table
    assert "spearman_all: 100 ρ by cosine over all pairs" in table


def test_tasks_of_mteb_follow_those_of_senteval_in_one_folder(folder: Path, tmp_path: Path) -> None:
    say = lambda fraction, status: None  # noqa: E731
    first = EvaluationRequest(
        "bag_of_words",
        data=write_tiny_senteval(tmp_path / "senteval"),
        tasks="MR",
        out=tmp_path / "out",
        cache=tmp_path / "cache",
    )
    evaluate(first, say)
    evaluated = evaluate(replace(first, data=None, mteb_data=folder, tasks=mteb_data.STS), say)
    assert evaluated.tasks == (f"mteb-{mteb_data.STS}",)
    assert {*read_results(evaluated.folder)} == {"MR", f"mteb-{mteb_data.STS}"}


@pytest.mark.slow
def test_two_encoders_are_compared_item_by_item(folder: Path, tmp_path: Path) -> None:
    class Noise(mteb_data.WordSums):
        @staticmethod
        def vector(word: str) -> mteb_data.Floats:
            return np.ones(mteb_data.WIDTH, np.float32) * len(word) + mteb_data.WordSums.vector(
                word[:1]
            )

    for name, encoder in (("a", mteb_data.WordSums()), ("b", Noise())):
        run = Evaluation(encoder, EncoderIdentity(name, name), data_folder=Path())
        evaluate_mteb(run, folder, mteb_data.TASKS, tmp_path / name)
    found = compare([read_results(tmp_path / "a")], [read_results(tmp_path / "b")])
    assert {row.task for row in found.tasks} == {f"mteb-{name}" for name in mteb_data.TASKS}
    assert all(0.0 < row.p <= 1.0 for row in found.tasks)
    by_task = {row.task: row for row in found.tasks}
    assert by_task["mteb-Banking77Classification"].difference.low > 0.0


@pytest.mark.parametrize(
    ("tasks", "changes", "message"),
    [
        (["STSBenchmrk"], {}, "MTEB has no task 'STSBenchmrk'; Did you mean: 'STSBenchmark'"),
        (["NFCorpus"], {}, "holds no folder NFCorpus or nfcorpus.*download the data set"),
        (
            [mteb_data.STS],
            {"representation": Representation(normalise=True)},
            "MTEB's tasks take the encoder's own vectors",
        ),
    ],
)
def test_a_mistake_is_told_with_its_remedy(
    folder: Path, tmp_path: Path, tasks: list[str], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        evaluate_mteb(evaluation(**changes), folder, tasks, tmp_path)


def test_columns_that_mteb_cannot_read_are_told(tmp_path: Path) -> None:
    rows = [{"first": "a", "second": "b", "labels": 1}]
    mteb_data.write_rows(tmp_path / mteb_data.PAIRS / "test.jsonl", rows)
    with pytest.raises(ValueError, match=r"MTEB cannot read its data of Sprint.*compare the col"):
        evaluate_mteb(evaluation(), tmp_path, [mteb_data.PAIRS], tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "row", "missing"),
    [
        (mteb_data.STS, {"first": "a", "sentence2": "b", "score": 1}, "sentence1"),
        (mteb_data.CLASSIFICATION, {"texts": "a", "label": 1}, "text"),
    ],
)
def test_columns_that_mteb_would_miss_are_named(
    tmp_path: Path, name: str, row: dict[str, Any], missing: str
) -> None:
    for split in ("train", "test"):
        mteb_data.write_rows(tmp_path / name / f"{split}.jsonl", [row] * 9)
    with pytest.raises(ValueError, match=rf"{name} \(.*\) have no column {missing}, only .*rename"):
        evaluate_mteb(evaluation(), tmp_path, [name], tmp_path / "out")


def test_too_many_refused_texts_are_an_error(tmp_path: Path) -> None:
    rows = [{"sentence1": "", "sentence2": "rain " * n, "score": n} for n in range(1, 6)]
    mteb_data.write_rows(tmp_path / mteb_data.STS / "test.jsonl", rows)
    encoder = resolve_encoder("bag_of_words")
    with pytest.raises(ValueError, match=r"refuses 1 of 6 distinct texts.*--on-refusal zero"):
        evaluate_mteb(evaluation(encoder), tmp_path, [mteb_data.STS], tmp_path / "out")


@pytest.mark.parametrize(
    ("names", "senteval", "expected"),
    [
        ("MR,mteb-STS17", True, ("MR", ("mteb-STS17",))),
        ("STS12", True, ("STS12", ())),
        ("STS12, STS17", False, ("", ("STS12", "STS17"))),
        ("all", True, ("all", ("all",))),
        ("all", False, ("", ("all",))),
    ],
)
def test_names_are_of_senteval_unless_they_say_mteb(
    names: str, senteval: bool, expected: tuple[str, tuple[str, ...]]
) -> None:
    assert divided(names, senteval=senteval) == expected
