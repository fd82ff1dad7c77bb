"""The evaluation benchmark runs on small data and ends in one line of JSON; no times are judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from benchmarks import evaluation
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
