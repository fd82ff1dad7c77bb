"""Two encoders over folders of results: pairing, seeds, p values, refusals, the command line."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.support.command import subcommand
from tests.support.evaluation_examples import answers, predictions, result, similarities, task
from treeviews.models.evaluation.comparison import (
    ComparisonConfig,
    bootstrap_p_value,
    compare,
    holm,
    permutation_p_value,
)
from treeviews.models.evaluation.resampling import Resampling
from treeviews.models.evaluation.scores import Predictions, scorer
from treeviews.models.evaluation.task_result import (
    EncoderIdentity,
    Result,
    result_path,
    write_result,
)

main = subcommand("compare")

FAST = ComparisonConfig(resampling=Resampling(num_resamples=400))


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


def folded(num_folds: int) -> Predictions:
    made = answers(100, 0.8)
    return predictions(made.predicted, made.gold, np.arange(100) % num_folds)


ONE = {"MR": folded(10)}


def written(folder: Path, of: Mapping[str, Result]) -> str:
    for one in of.values():
        write_result(result_path(folder, one.task), one)
    return str(folder)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (ONE, {"MR": folded(5)}, "MR: the two encoders were scored on different items or folds"),
        (ONE | {"CR": ONE["MR"]}, ONE, "CR: a has a result and b has none; evaluate both .*--tas"),
        (ONE, {}, "at least one folder with results a side"),
        (ONE, {"CR": ONE["MR"]}, "evaluate both on it|no task in common"),
    ],
)
def test_what_cannot_be_compared_is_named(
    first: dict[str, Predictions], second: dict[str, Predictions], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        compare([results("a", first)], [results("b", second)], FAST)


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


# p values, against enumeration.


def p_value(name: str, of, *pair, num_resamples: int = 2000) -> float:  # type: ignore[no-untyped-def]
    how, coins = Resampling(num_resamples=num_resamples), np.arange(len(pair[0].gold))
    return permutation_p_value(name, [scorer(of, *pair)], coins, how)


def test_p_is_the_share_of_all_swaps_that_differ_as_much() -> None:
    """Ten items, so all 1,024 swaps can be counted out."""
    random = np.random.default_rng(6)
    gold = random.integers(0, 2, 10)
    a = np.where(random.random(10) < 0.9, gold, 1 - gold)
    b = np.where(random.random(10) < 0.5, gold, 1 - gold)
    observed = abs((a == gold).mean() - (b == gold).mean())
    as_large = 0
    for swaps in itertools.product([False, True], repeat=10):
        first, second = np.where(swaps, b, a), np.where(swaps, a, b)
        difference = (first == gold).mean() - (second == gold).mean()
        as_large += abs(difference) >= observed - 1e-12
    pair = predictions(a, gold), predictions(b, gold)
    assert 0 < as_large / 1024 < 1
    assert p_value("accuracy", task(), *pair, num_resamples=20_000) == pytest.approx(
        as_large / 1024, abs=0.015
    )


def test_swapped_ranks_are_taken_anew() -> None:
    """The p value of ρ, by enumeration of swaps between two encoders' own ranks."""
    random = np.random.default_rng(1)
    gold = np.arange(9.0)
    a, b = gold + random.normal(size=9), gold + 5 * random.normal(size=9)
    ranks = [np.argsort(np.argsort(x)).astype(float) for x in (a, b)]

    def rho(x: np.ndarray) -> float:
        levels = [(x < value).sum() + ((x == value).sum() - 1) / 2 for value in x]
        return float(np.corrcoef(levels, gold)[0, 1])

    observed = abs(rho(a) - rho(b))
    differences = [
        rho(np.where(swaps, ranks[1], ranks[0])) - rho(np.where(swaps, ranks[0], ranks[1]))
        for swaps in itertools.product([False, True], repeat=9)
    ]
    expected = np.mean(np.abs(differences) >= observed - 1e-9)
    pair = predictions(a, gold), predictions(b, gold)
    found = p_value("spearman", task(protocol="relatedness"), *pair, num_resamples=8000)
    assert found == pytest.approx(expected, abs=0.02)


def test_the_bootstraps_p_is_twice_the_smaller_tail() -> None:
    assert bootstrap_p_value(np.array([1.0] * 97 + [-1.0] * 2)) == pytest.approx(2 * 3 / 100)
    assert bootstrap_p_value(np.zeros(50)) == 1.0


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
