"""The table of frameworks, from results made by hand: ours beside the papers' figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.evaluation.task_result import EncoderIdentity, TaskResult, result_path, write_result
from models.frameworks.frameworks import FrameworkRow
from models.frameworks.frameworks_table import (
    FrameworkComparison,
    TrainingRecord,
    TrainingText,
    frameworks_table,
)
from models.frameworks.published import MEANS, SIMILARITY
from tests.support.evaluation_examples import answers, predictions, result, similarities, task

SUMMARY: dict[str, Any] = {
    "views": ["SEQ"],
    "objective": "generative",
    "num_parameters": 1_234_567,
    "train_sentences": 74_000,
    "coverage": {"exact": 900, "lower_cased": 50, "unknown": 50, "known_share": 0.95},
    "epochs": 1,
    "steps": 1_500,
    "seconds": 90.0,
    "held_out": {"final": {"accuracy": 0.75, "chance": 0.5, "num_sentences": 100}},
    "final_measures": {"generative_loss": 2.5, "orthonormality": 0.0123},
}


def written(folder: Path, share: float, *, seed: int = 0, data: str = "d0") -> Path:
    """Writes results on MR and STS14."""
    encoder = EncoderIdentity("encoder", f"digest-{seed}", seed)
    results: Sequence[TaskResult] = [
        result(answers(100, share, seed=seed), task("MR"), encoder=encoder, data_digest=data),
        result(similarities(100, 0.5, seed=seed), task("STS14", "similarity"), encoder=encoder),
    ]
    for one in results:
        write_result(result_path(folder, one.task), one)
    return folder


def table(*rows: FrameworkRow, **changes: Any) -> str:
    given = {
        "trainings": (TrainingRecord("B-G", (SUMMARY,), {"hidden_size": (2048, 64)}),),
        "tasks": ("STS14", "MR"),
        "text": TrainingText("stories", "100 wide, trained on them", "30 % of the documents"),
    }
    return frameworks_table(FrameworkComparison(rows, **(given | changes)))


def cells(text: str, *leading: str) -> list[str]:
    """Returns what follows the leading cells in the first row that begins with them."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return next(row[len(leading) :] for row in rows if tuple(row[: len(leading)]) == leading)


def test_our_score_stands_with_its_interval_beside_the_papers(tmp_path: Path) -> None:
    folder = written(tmp_path / "a", 0.8)
    ours = FrameworkRow("B-G", "ensemble", True, (folder,), ("B-G", "ensemble"), 1_234_567)
    baseline = FrameworkRow("mean of the word vectors", "all", True, (folder,))

    text = table(ours, baseline)

    parameters, sts, sts_paper, mr, mr_paper = cells(text, "B-G", "ensemble", "removed")
    assert (parameters, sts_paper, mr_paper) == ("1,234,567", "71.1", "81.3")
    assert mr.startswith("80.0 [") and sts.endswith("]")
    assert "B, table 3, G1; B, table 5, G1" in text
    assert cells(text, "mean of the word vectors", "all", "removed")[::2] == ["–", "–", "–"]


def test_a_paper_that_gives_no_such_figure_is_not_filled_in_from_another_row(
    tmp_path: Path,
) -> None:
    folder = written(tmp_path / "a", 0.8)
    kept = FrameworkRow("B-G", "ensemble", False, (folder,), ("B-G", "ensemble"))
    view = FrameworkRow("C-linear", "z_de", True, (folder,), ("C-linear", "de"))

    text = table(kept, view)

    assert cells(text, "B-G", "ensemble", "kept")[2::2] == ["–", "–"]
    assert cells(text, "C-linear", "z_de", "removed")[2::2] == ["69.2", "79.0"]


def test_seeds_are_summed_up(tmp_path: Path) -> None:
    folders = (written(tmp_path / "a", 0.8), written(tmp_path / "b", 0.9, seed=1))

    text = table(FrameworkRow("B-G", "ensemble", True, folders))

    assert cells(text, "B-G", "ensemble", "removed")[3] == "85.0 ± 7.1 (2)"


def test_the_papers_averages_stand_with_their_source_also_where_ours_are_not_given(
    tmp_path: Path,
) -> None:
    folder = written(tmp_path / "a", 0.8)

    text = table(FrameworkRow("B-D", "z_g", True, (folder,), ("B-D", "de")))

    averages = text.split("## Averages that the papers give")[1]
    assert cells(averages, "B-D", "z_g", "removed") == [
        "B, table 6, discriminative, z^g",
        *("–", "69.2 U", "–", "82.6 U", "–", "85.2 U"),
    ]


def test_an_average_of_ours_is_given_where_all_of_its_tasks_were_scored(tmp_path: Path) -> None:
    for name in SIMILARITY:
        one = result(similarities(60, 0.4), task(name, "similarity"))
        write_result(result_path(tmp_path, one.task), one)
    row = FrameworkRow("B-G", "ensemble", True, (tmp_path,), ("B-G", "ensemble"))

    text = table(row, tasks=SIMILARITY)

    ours, paper = cells(text.split("## Averages")[1], "B-G", "ensemble", "removed")[1:3]
    assert ours.count("[") == 1 and paper == "69.4"
    assert len(MEANS) == 3


def test_no_section_of_averages_stands_without_any(tmp_path: Path) -> None:
    folder = written(tmp_path / "a", 0.8)

    assert "Averages" not in table(FrameworkRow("own", "ensemble", True, (folder,)))


def test_the_difference_in_data_and_settings_is_stated(tmp_path: Path) -> None:
    folder = written(tmp_path / "a", 0.8)

    text = table(FrameworkRow("B-G", "ensemble", True, (folder,), ("B-G", "ensemble")))

    assert "Text: 74,000 sentences of 1,000 words to train on, of stories" in text
    assert "74 M sentences, 1,000 times as many" in text
    assert "B-G, in parentheses the preset: hidden_size 64 (2048)." in text
    assert cells(text.split("## Trainings")[1], "B-G", "SEQ", "generative") == [
        *("1,234,567", "≈ 8.8 M", "74,000", "1,000", "95.0 %", "1", "1,500"),
        *("75.0 (chance 50.0)", "0.012", "–", "90.0 s"),
    ]


def test_a_figure_of_another_corpus_is_marked(tmp_path: Path) -> None:
    for one in (task("MRPC"), task("MR")):
        made = result(answers(100, 0.8), one)
        write_result(result_path(tmp_path, one), made)
    view = FrameworkRow("B-G", "z_en", True, (tmp_path,), ("B-G", "en"))
    whole = FrameworkRow("B-G", "ensemble", True, (tmp_path,), ("B-G", "ensemble"))

    text = table(view, whole, tasks=("MRPC", "MR"))

    assert cells(text, "B-G", "z_en", "removed")[2::2] == ["74.7 U", "–"]
    assert cells(text, "B-G", "ensemble", "removed")[2::2] == ["76.5", "81.3"]
    assert "trained on BookCorpus: B, table 5, G1." in text
    assert "trained on UMBC News: B, table 6, generative, z^f." in text


def test_how_the_scores_came_about_is_stated(tmp_path: Path) -> None:
    one = result(answers(100, 0.8), task("MR"))
    folders = []
    for number, pooling in enumerate((["max", "mean", "min", "last"], ["max", "mean", "min"])):
        representation = {"name": "multi-view", "supervised_pooling": pooling, "views": ["0-SEQ"]}
        setup = replace(
            one.setup,
            representation=representation,
            classifier={"classifier": "logistic_regression", "num_folds": 3},
        )
        folders.append(tmp_path / str(number))
        write_result(result_path(folders[-1], one.task), replace(one, setup=setup))
    rows = [
        FrameworkRow(name, "z_en", True, (folder,))
        for name, folder in zip(("B-G", "C-linear"), folders, strict=True)
    ]

    text = table(*rows, tasks=("MR",))

    assert "- Where something is learnt: classifier logistic_regression, num_folds 3.\n" in text
    assert "- Represented as multi-view: B-G.\n" in text
    assert "- Represented as multi-view, supervised_pooling max+mean+min: C-linear.\n" in text
    assert "- Classifier: an exact logistic regression; the papers used SentEval's package" in text
    assert "- Held out, and so not trained on: 30 % of the documents" in text


def test_a_correlation_that_does_not_exist_is_said_to_be_none(tmp_path: Path) -> None:
    one = result(predictions(np.ones(20), np.arange(20)), task("STS14", "similarity"))
    write_result(result_path(tmp_path, one.task), one)

    text = table(FrameworkRow("B-G", "z_en", True, (tmp_path,)), tasks=("STS14",))

    assert "STS14, B-G, z_en, component removed: 0 stands for no value in pearson" in text


def test_what_held_out_accuracy_means_is_said_of_each_objective(tmp_path: Path) -> None:
    agreement = SUMMARY | {"objective": "both", "final_measures": {"temperature": 0.5}}
    records = tuple(
        TrainingRecord(name, (summary, summary), {})
        for name, summary in (("B-G", SUMMARY), ("B-GD", agreement))
    )

    text = table(
        FrameworkRow("B-G", "z_en", True, (written(tmp_path, 0.8),)), trainings=records
    ).split("## Trainings")[1]

    assert "Held-out accuracy of B-G. How often a word of the sentence that follows" in text
    assert "Held-out accuracy of B-GD. How often a held-out sentence picks its neighbour" in text
    assert cells(text, "B-GD")[-3:-1] == ["–", "0.500 ± 0.000 (2)"]


def test_a_summary_without_measures_is_taken(tmp_path: Path) -> None:
    earlier = {name: value for name, value in SUMMARY.items() if name != "final_measures"}

    text = table(
        FrameworkRow("B-G", "z_en", True, (written(tmp_path, 0.8),)),
        trainings=(TrainingRecord("B-G", (earlier,), {}),),
    )

    assert cells(text.split("## Trainings")[1], "B-G")[-3:-1] == ["–", "–"]


def test_results_on_different_data_are_refused(tmp_path: Path) -> None:
    rows = [
        FrameworkRow(name, "ensemble", True, (written(tmp_path / name, 0.8, data=name),))
        for name in ("one", "two")
    ]

    with pytest.raises(ValueError, match="MR: the encoders were scored on different data"):
        table(*rows)
