"""The table of tasks by encoders and the published averages, from results made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.evaluation import averages
from models.evaluation.averages import (
    AVERAGES,
    AverageDeclaration,
    average_difference,
    average_of,
    average_over_tasks,
    average_value,
    lacking,
    published_averages,
)
from models.evaluation.evaluation_task import EvaluationTask
from models.evaluation.representation import representation_named
from models.evaluation.resampling import Resampling
from models.evaluation.scores import resampled_scores
from models.evaluation.task_result import (
    AbsentResult,
    EncoderIdentity,
    Result,
    Setup,
    TaskResult,
    result_path,
    write_result,
)
from models.report.evaluation_table import evaluation_table
from tests.support.evaluation_examples import answers, result, similarities, task

AVG7, ACCURACIES_AND_R, MEAN_OF_SIX = AVERAGES
ACCURACIES = ("MR", "CR", "SUBJ", "MPQA", "TREC")


def seven(encoder: EncoderIdentity, share: float) -> list[Result]:
    """Returns the results of the seven tasks of the published average."""
    made = answers(100, share)
    results: list[Result] = [result(made, task(name), encoder=encoder) for name in ACCURACIES]
    results.append(result(made, task("MRPC", "folds", f1=True), encoder=encoder))
    related = task("SICK-R", "relatedness")
    return [*results, result(similarities(100, 0.3, subsets=1), related, encoder=encoder)]


def six(encoder: EncoderIdentity) -> list[Result]:
    """Returns the results of the tasks of the mean of six, each with subsets."""
    names = ("STS12", "STS13", "STS14", "STS15", "STS-B-cosine", "SICK14")
    return [
        result(similarities(60, noise, subsets=3), task(name, "similarity"), encoder=encoder)
        for noise, name in enumerate(names, start=1)
    ]


def derived(name: str, corpus: str) -> TaskResult:
    """Returns the result of a derived task with three items a document."""
    made = result(replace(answers(60, 0.8), clusters=np.arange(60) // 3), task(name))
    return replace(made, data=replace(made.data, derived_from=corpus))


def written(folder: Path, results: Sequence[Result]) -> Path:
    for one in results:
        write_result(result_path(folder, one.task), one)
    return folder


def cells(table: str, task_name: str, score: str = "accuracy") -> list[str]:
    """Returns a row's cells after task and score."""
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return next(row[2:] for row in rows if row[:2] == [task_name, score])


def test_tasks_of_several_corpora_have_no_average(tmp_path: Path) -> None:
    """A document's number has one meaning within one corpus only."""
    one = {"Tense": derived("Tense", "tales"), "BShift": derived("BShift", "tales")}
    mixed = {**one, "BShift": derived("BShift", "letters")}
    assert average_over_tasks(one).value == pytest.approx(80.0)
    assert average_difference([one], [one], Resampling(num_resamples=50)) is not None
    assert average_difference([mixed], [mixed], Resampling(num_resamples=50)) is None
    assert "average of the derived tasks" not in evaluation_table(
        [written(tmp_path / "mixed", [*mixed.values()])]
    )


@pytest.mark.parametrize(
    ("accuracies", "mrpc", "sick", "published"),
    [
        ((79.8, 82.9, 94.6, 88.5, 90.4), (76.4, 83.7), (86.1, 78.9, 0.263), 85.1),
        ((79.7, 82.2, 94.4, 88.6, 91.0), (77.9, 84.4), (86.6, 79.8, 0.255), 85.3),
        ((80.7, 83.6, 94.9, 89.2, 92.6), (76.8, 83.6), (87.0, 80.3, 0.248), 86.0),
    ],
    ids=["SEQ,CONST", "DEP,SEQ", "DEP,CONST"],
)
def test_the_formula_gives_the_averages_that_the_paper_prints(
    accuracies: tuple[float, ...],
    mrpc: tuple[float, ...],
    sick: tuple[float, ...],
    published: float,
) -> None:
    """Rows of Simoulin & Crabbé (2021): their task table against their table of averages."""
    scores = {
        name: {"accuracy": np.array([value])}
        for name, value in zip(ACCURACIES, accuracies, strict=True)
    }
    scores["MRPC"] = {"accuracy": np.array([mrpc[0]]), "f1": np.array([mrpc[1]])}
    names = ("pearson", "spearman", "mse")
    scores["SICK-R"] = {n: np.array([value]) for n, value in zip(names, sick, strict=True)}
    found = float(average_of(AVG7, scores)[0])
    assert round(found, 1) == published
    assert float(average_of(ACCURACIES_AND_R, scores)[0]) - found == pytest.approx(0.4, abs=0.05)


def test_an_average_of_independent_tasks_is_surer_than_each() -> None:
    one = AverageDeclaration("one", "", {"MR": ("accuracy",)})
    both = AverageDeclaration("both", "", {"MR": ("accuracy",), "CR": ("accuracy",)})
    often = Resampling(num_resamples=1000)
    made = {name: result(answers(200, 0.8), task(name), resampling=often) for name in ("MR", "CR")}
    single, found = published_averages([one, both], made)
    assert found.value == average_value(both, made) == pytest.approx(80.0)
    ratio = (found.high - found.low) / (single.high - single.low)
    assert ratio == pytest.approx(1 / np.sqrt(2), abs=0.12)


def test_an_average_that_lacks_a_task_is_not_given() -> None:
    results = {one.task.name: one for one in seven(EncoderIdentity("a", "a"), 0.8)}
    del results["TREC"]
    assert lacking(AVG7, results) == ["TREC"]
    with pytest.raises(ValueError, match="avg7 needs results of TREC"):
        published_averages([AVG7], results)


def test_items_are_drawn_once_for_all_averages_and_not_for_several_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = [
        written(tmp_path / str(seed), seven(EncoderIdentity("words", str(seed)), 0.7))
        for seed in range(2)
    ]
    drawn: list[str] = []

    def counted(of: EvaluationTask, *more: Any) -> Any:
        drawn.append(of.name)
        return resampled_scores(of, *more)

    monkeypatch.setattr(averages, "resampled_scores", counted)
    evaluation_table(seeds[:1])
    assert sorted(drawn) == sorted([*ACCURACIES, "MRPC", "SICK-R"])
    evaluation_table(seeds)
    assert len(drawn) == 7


def test_one_seed_has_an_interval_and_several_a_deviation(tmp_path: Path) -> None:
    words = written(tmp_path / "words", seven(EncoderIdentity("words", "w"), 0.7))
    trained = [
        written(tmp_path / f"trained-{seed}", seven(EncoderIdentity("trained", str(seed), seed), s))
        for seed, s in enumerate((0.8, 0.84))
    ]
    table = evaluation_table([words, *trained])
    assert "| task | score | words | trained |" in table
    first, second = cells(table, "MR")
    assert first.startswith("70.0 [")
    assert second == "82.0 ± 2.8 (2)"
    assert cells(table, "avg7", "")[0].count("[") == 1
    assert cells(table, "avg7", "")[1].endswith("(2)")
    assert "- trained: encoder 0, 1, width 300" in table


def test_an_absent_task_is_listed_with_its_reason_and_ends_the_average(tmp_path: Path) -> None:
    encoder = EncoderIdentity("words", "w")
    results = [one for one in seven(encoder, 0.7) if one.task.name != "CR"]
    absent = AbsentResult(task("CR"), Setup(encoder, {"name": "plain"}), "custrev.pos is missing")
    table = evaluation_table([written(tmp_path / "words", [*results, absent])])
    assert "| CR |  | absent |" in table
    assert "- CR: absent (custrev.pos is missing)" in table
    assert cells(table, "avg7", "") == ["not given"]
    assert "words: no avg7 and no avg7 of accuracies and r, for lack of CR; the mean" in table
    assert "mean of six" not in table


def test_the_mean_of_six_is_that_of_all_pairs_of_each_set(tmp_path: Path) -> None:
    made = six(EncoderIdentity("words", "w"))
    pooled = [one.scores["spearman_all"].value for one in made if isinstance(one, TaskResult)]
    apart = [one.scores["spearman_mean"].value for one in made if isinstance(one, TaskResult)]
    expected = float(np.mean(pooled))
    assert average_value(MEAN_OF_SIX, {one.task.name: one for one in made}) == expected
    assert expected != pytest.approx(np.mean(apart), abs=0.05)
    table = evaluation_table([written(tmp_path / "words", made)])
    (cell,) = cells(table, "mean of six", "")
    assert cell.startswith(f"{expected:.1f} [")
    assert "each ρ over all pairs of a set at once" in table
    assert "avg7" not in table


def test_without_one_of_the_six_no_mean_of_the_others_is_given(tmp_path: Path) -> None:
    words, other = (
        [one for one in six(EncoderIdentity(name, name)) if one.task.name != lacked]
        for name, lacked in (("words", "STS15"), ("other", ""))
    )
    table = evaluation_table([written(tmp_path / "words", words), written(tmp_path / "o", other)])
    lacking_one, complete = cells(table, "mean of six", "")
    assert lacking_one == "not given" and "[" in complete
    assert "- words: no mean of six, for lack of STS15; the mean of the other" in table
    assert "- other: no mean of six" not in table


def test_a_task_that_one_encoder_was_not_evaluated_on_says_so(tmp_path: Path) -> None:
    a = written(tmp_path / "a", [result(answers(40, 0.8), task("MR"))])
    other = EncoderIdentity("other", "o")
    b = written(tmp_path / "b", [result(answers(40, 0.8), task("TREC"), encoder=other)])
    table = evaluation_table([a, b])
    assert cells(table, "MR")[1] == cells(table, "TREC")[0] == "not evaluated"


def test_tasks_stand_in_their_declared_order_and_others_last(tmp_path: Path) -> None:
    names = ("TREC", "a corpus' own", "CR", "MR")
    folder = written(tmp_path / "a", [result(answers(40, 0.8), task(name)) for name in names])
    table = evaluation_table([folder])
    order = [
        line.split(" | ")[0].strip("| ") for line in table.splitlines() if "accuracy |" in line
    ]
    assert order[:4] == ["MR", "CR", "TREC", "a corpus' own"]


def test_similarity_is_given_in_six_ways_and_by_subset(tmp_path: Path) -> None:
    made = result(similarities(60, 1.0), task("STS14", "similarity"))
    table = evaluation_table([written(tmp_path / "a", [made])])
    for measure in ("pearson", "spearman"):
        for form in ("mean", "weighted", "all"):
            assert len(cells(table, "STS14", f"{measure}_{form}")) == 1
    scores, subsets = table.split("## Subsets")
    assert "pearson:g1" in subsets
    assert "pearson:g1" not in scores


def doubtful(folder: Path, seed: int, *, refused: int = 0, **outcome: Any) -> Path:
    made = result(answers(40, 0.8), task("MR"), encoder=EncoderIdentity("words", str(seed), seed))
    record = replace(made.data, num_sentences=1200, num_refused=refused)
    made = replace(made, data=record, outcome=replace(made.outcome, **outcome))
    return written(folder / str(seed), [made])


def test_what_makes_scores_doubtful_is_said_below_the_table(tmp_path: Path) -> None:
    found = doubtful(tmp_path, 0, refused=3, num_fits=1060, not_converged=2, at_grid_edge=1)
    notes = evaluation_table([found]).splitlines()
    for note in (
        "- words: sentences that it refused, scored as zeros: MR 3 of 1,200 distinct (0.25 %).",
        "- words: fits that stopped before the tolerance was reached: MR 2 of 1,060.",
        "- words: searches that chose the smallest or largest regulariser offered: MR 1 of 2.",
    ):
        assert note in notes


def test_doubts_are_summed_over_seeds_and_the_most_refused_given(tmp_path: Path) -> None:
    seeds = [
        doubtful(tmp_path, seed, refused=3 * seed, num_fits=10, not_converged=seed, at_grid_edge=1)
        for seed in range(3)
    ]
    table = evaluation_table(seeds)
    assert "MR 6 of 1,200 distinct (0.50 %)" in table
    assert "was reached: MR 3 of 30." in table
    assert "offered: MR 3 of 6." in table


def test_one_encoder_in_two_representations_is_two_columns(tmp_path: Path) -> None:
    made = result(answers(40, 0.8), task("MR"))
    plain = written(tmp_path / "plain", [made])
    setup = Setup(made.setup.encoder, {"name": "multi-view"}, made.setup.classifier)
    other = written(tmp_path / "other", [replace(made, setup=setup)])
    table = evaluation_table([plain, other])
    assert "| bag of words (plain) | bag of words (multi-view) |" in table
    assert '"multi-view"' in table


def test_choices_of_views_of_one_encoder_are_told_apart(tmp_path: Path) -> None:
    made = result(answers(40, 0.8), task("MR"))
    chosen: list[dict[str, Any]] = [
        representation_named("multi-view").to_dict(),
        representation_named("multi-view", views=["SEQ"]).to_dict(),
        representation_named("multi-view", name="z_de", views=["INV"]).to_dict(),
    ]
    folders = [
        written(
            tmp_path / str(number),
            [replace(made, setup=Setup(made.setup.encoder, used, made.setup.classifier))],
        )
        for number, used in enumerate(chosen)
    ]

    table = evaluation_table(folders)

    titles = ["multi-view", "multi-view, views SEQ", "z_de"]
    assert " | ".join(f"bag of words ({title})" for title in titles) in table


def test_one_encoder_by_two_classifiers_is_numbered(tmp_path: Path) -> None:
    made = result(answers(40, 0.8), task("MR"))
    other = Setup(made.setup.encoder, made.setup.representation, {"classifier": "compatibility"})
    folders = [
        written(tmp_path / "a", [made]),
        written(tmp_path / "b", [replace(made, setup=other)]),
    ]
    assert "| bag of words #1 | bag of words #2 |" in evaluation_table(folders)


def test_results_on_other_data_are_not_put_side_by_side(tmp_path: Path) -> None:
    a = written(tmp_path / "a", [result(answers(40, 0.8), task("MR"))])
    other = EncoderIdentity("other", "o")
    made = result(answers(40, 0.8), task("MR"), encoder=other, data_digest="d1")
    with pytest.raises(ValueError, match=r"MR: .* different data \(d0, d1\); evaluate all"):
        evaluation_table([a, written(tmp_path / "b", [made])])


def test_the_same_encoder_twice_is_refused(tmp_path: Path) -> None:
    a = written(tmp_path / "a", [result(answers(40, 0.8), task("MR"))])
    with pytest.raises(ValueError, match="bag of words: two folders hold the same encoder"):
        evaluation_table([a, a])


def test_no_folder_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one folder"):
        evaluation_table([])
