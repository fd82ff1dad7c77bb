"""The evaluation benchmark runs on small data and ends in one line of JSON; no times are judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import evaluation
from benchmarks.evaluation_input import made_task
from benchmarks.references.sklearn_protocol import CONVERGED, SklearnProtocol
from tests.support.parsed_corpora import stories, write_corpus
from tests.support.tiny_senteval import write_tiny_senteval

pytest.importorskip("sklearn", reason="compared with scikit-learn: the extra bench")

QUICK = ("--encoder", "bag_of_words", "--poolings", "mean", "--folds", "3", "--cores", "1")


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def last_line(output: str) -> dict[str, object]:
    figures: dict[str, object] = json.loads(output.splitlines()[-1])
    return figures


def test_both_are_compared_on_every_task_that_learns_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_tiny_senteval(tmp_path)
    given = ["--data", str(data), "--tasks", "MR,TREC,SICK-E,STS13", "--converged", *QUICK]
    assert evaluation.main(given) == 0
    output = capsys.readouterr().out
    for row in ("| MR ", "| TREC ", "| SICK-E "):
        assert output.count(row) == 2  # as it comes, and converged
    assert "STS13" not in output.partition("command:")[0]  # nothing is learnt there
    figures = last_line(output)
    assert set(figures) == {
        "nested_cv_vs_sklearn",
        "nested_cv_vs_sklearn_converged",
        "nested_cv_vs_sklearn_cpu",
        "nested_cv_vs_sklearn_converged_cpu",
        "task",
        "max_accuracy_difference",
        "same_regularisers",
        "compared_with",
    }
    assert figures["task"] == "MR"
    assert figures["compared_with"] == "converged"
    assert figures["max_accuracy_difference"] == 0.0


def test_without_data_the_default_run_is_a_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path / "corpus", stories(20))
    assert evaluation.main(["--corpus", str(tmp_path / "corpus"), *QUICK]) == 0
    assert "nested_cv_vs_sklearn" in last_line(capsys.readouterr().out)


def test_the_made_task_asks_for_a_word_that_about_half_of_the_sentences_have(
    tmp_path: Path,
) -> None:
    write_corpus(tmp_path / "corpus", stories(20))
    task, data = made_task(tmp_path / "corpus")
    items = data.splits["all"]
    word = task.name.removeprefix("contains ").strip("'")
    held = [word in data.sentences[place].split() for place in items.first]
    assert held == [bool(label) for label in items.labels]
    lengths = [len(data.sentences[place].split()) for place in items.first]
    assert lengths == sorted(lengths)
    assert 0.2 < np.mean(held) < 0.8


@pytest.mark.parametrize(
    ("given", "message", "status"),
    [
        (["--data", "{}/none"], "no data of MR", 3),
        (["--corpus", "{}/none"], "no complete sentences", 3),
        (["--encoder", "what"], "no such folder and no known name", 3),
    ],
)
def test_a_users_mistake_is_told(
    given: list[str],
    message: str,
    status: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert evaluation.main([*QUICK, *(part.format(tmp_path) for part in given)]) == status
    assert message in capsys.readouterr().err


def test_the_reference_counts_its_fits_and_those_it_cut_short() -> None:
    random = np.random.default_rng(0)
    features = random.standard_normal((60, 5)).astype(np.float32)
    labels = (features[:, 0] + 0.1 * random.standard_normal(60) > 0).astype(np.int64)
    reference = SklearnProtocol(features, labels, seed=0, num_processes=1, solver=CONVERGED)
    outcome = reference.nested_folds((0.5, 1.0), 3)
    assert outcome.num_fits == 3 * (2 * 3 + 1)
    assert outcome.num_unfinished == 0
    assert outcome.accuracy > 80
    assert len(outcome.regularisers) == len(outcome.dev_accuracies) == 3
