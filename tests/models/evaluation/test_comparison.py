"""Two encoders over folders of results: pairing, seeds, refusals, the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from models.evaluation.comparison import (
    ComparisonConfig,
    Test,
    compare,
)
from models.evaluation.resampling import Resampling
from models.evaluation.scores import Predictions, score_intervals
from models.evaluation.task_result import (
    AbsentResult,
    EncoderIdentity,
    Result,
    Setup,
    result_path,
    write_result,
)
from tests.support.command import subcommand
from tests.support.evaluation_examples import answers, predictions, result, similarities, task

main = subcommand("compare")

FAST = ComparisonConfig(resampling=Resampling(num_resamples=400))
SETUP = result(answers(4, 0.5), task("MR")).setup


def results(name: str, made: Mapping[str, Predictions], *, seed: int = 0) -> dict[str, Result]:
    """Returns an encoder's results; STS tasks are of similarity."""
    encoder = EncoderIdentity(name, f"{name}-{seed}", seed)
    return {
        task_name: result(
            one,
            task(task_name, "similarity" if task_name.startswith("STS") else "split", f1=True),
            encoder=encoder,
        )
        for task_name, one in made.items()
    }


def written(folder: Path, of: Mapping[str, Result]) -> str:
    for one in of.values():
        write_result(result_path(folder, one.task), one)
    return str(folder)


def test_pairing_is_narrower_than_the_two_intervals() -> None:
    """The second encoder answers as the first, but for ten items of 300."""
    first = answers(300, 0.75)
    changed = first.predicted.copy()
    changed[:10] = 1 - first.gold[:10]
    second = predictions(changed, first.gold)
    row = compare([results("a", {"MR": first})], [results("b", {"MR": second})], FAST).tasks[0]
    single = score_intervals(task(), first, Resampling(400))["accuracy"]
    assert row.difference.high - row.difference.low < 0.5 * (single.high - single.low)
    assert row.difference.excludes_zero


@pytest.mark.parametrize("test", get_args(Test))
def test_a_clear_difference_is_found_by_either_test(test: Test) -> None:
    config = ComparisonConfig(test=test, resampling=Resampling(1000))
    better, worse = {"MR": answers(400, 0.9)}, {"MR": answers(400, 0.6, seed=1)}
    row = compare([results("a", better)], [results("b", worse)], config).tasks[0]
    assert row.p < 0.01
    assert row.difference.value == pytest.approx(30.0)
    assert row.difference.low > 20.0


def test_seeds_are_averaged_and_their_deviation_given() -> None:
    first = [
        results("a", {"MR": answers(100, share)}, seed=i) for i, share in enumerate((0.8, 0.9))
    ]
    second = [results("b", {"MR": answers(100, 0.7, seed=5)})]
    row = compare(first, second, FAST).tasks[0]
    assert (row.first.mean, row.first.num_seeds) == (pytest.approx(85.0), 2)
    assert row.first.deviation == pytest.approx(np.std([80, 90], ddof=1))
    assert row.second.deviation is None
    assert row.difference.value == pytest.approx(15.0)
    assert row.p < 0.05


def test_a_seed_given_twice_is_refused() -> None:
    one = results("a", {"MR": answers(20, 0.8)})
    with pytest.raises(ValueError, match="encoder a of digest a-0 is given twice"):
        compare([one, one], [results("b", {"MR": answers(20, 0.8)})], FAST)


@pytest.mark.parametrize("test", get_args(Test))
def test_other_folds_are_refused_by_either_test(test: Test) -> None:
    """Resamples are drawn within folds, so those of other folds are not paired."""
    made = answers(100, 0.8)
    ten, five = (
        predictions(made.predicted, made.gold, np.arange(100) % num_folds) for num_folds in (10, 5)
    )
    config = ComparisonConfig(test=test, resampling=Resampling(50))
    with pytest.raises(ValueError, match=r"MR: the two encoders .* different items or folds"):
        compare([results("a", {"MR": ten})], [results("b", {"MR": five})], config)


def test_a_task_that_one_side_lacks_is_named_with_the_remedy() -> None:
    both = {"MR": answers(20, 0.8), "CR": answers(20, 0.8)}
    with pytest.raises(
        ValueError, match=r"CR: a has a result and b has none; evaluate both .*--tas"
    ):
        compare([results("a", both)], [results("b", {"MR": both["MR"]})], FAST)


def test_other_data_is_refused_with_the_remedy() -> None:
    of = task("MR")
    first = {"MR": result(answers(20, 0.8), of, encoder=EncoderIdentity("a", "a"))}
    other = EncoderIdentity("b", "b")
    second = {"MR": result(answers(20, 0.8), of, encoder=other, data_digest="d1")}
    with pytest.raises(
        ValueError, match=r"MR: scored on data d0 for a \(a\) and on d1 for b \(b\)"
    ):
        compare([first], [second], FAST)


def test_a_task_absent_on_both_sides_is_listed_and_on_one_refused() -> None:
    a, b = (results(name, {"MR": answers(20, 0.8)}) for name in "ab")
    a["CR"] = AbsentResult(task("CR"), Setup(EncoderIdentity("a", "a-0")), "no custrev.pos")
    asked_of_one = compare([a], [b], FAST)
    assert [row.task for row in asked_of_one.tasks] == ["MR"] and asked_of_one.absent == {}
    b["CR"] = AbsentResult(task("CR"), Setup(EncoderIdentity("b", "b-0")), "no custrev.pos")
    assert compare([a], [b], FAST).absent == {"CR": "no custrev.pos"}
    b["CR"] = results("b", {"CR": answers(20, 0.8)})["CR"]
    with pytest.raises(ValueError, match="CR: b has a result and a has none"):
        compare([a], [b], FAST)


def test_the_command_line_prints_a_table_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = {"MR": answers(80, 0.9), "STS14": similarities(80, 0.5)}
    other = {"MR": answers(80, 0.6, seed=1), "STS14": similarities(80, 3.0, seed=1)}
    a = written(tmp_path / "a", results("trained", made))
    more = written(tmp_path / "a2", results("trained", made, seed=1))
    b = written(tmp_path / "b", results("random", other))
    asked = [f"{a},{more}", b, "--resamples", "200"]
    assert main(asked) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("| task | score | trained | random | difference [95%] | p |")
    assert printed[2].startswith("| MR | accuracy | 90.0 ± 0.0 (2) | 60.0 | +30.0 [+")
    assert any("Holm's correction over 2 rows" in line for line in printed)
    assert main([*asked, "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["tasks"][0]["difference"]["value"] == pytest.approx(30.0)
    assert value["config"]["resampling"]["num_resamples"] == 200


def test_a_users_mistake_exits_2_and_says_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = written(tmp_path / "a", results("a", {"MR": answers(20, 0.8)}))
    assert main([a, str(tmp_path / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err
    assert main([a, a, "--confidence", "95"]) == 2
    assert "between 0 and 1" in capsys.readouterr().err
