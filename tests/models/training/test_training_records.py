"""Times as people are told them."""

from __future__ import annotations

import pytest

from treeviews.models.training.training_job import duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "0 s"), (42.4, "42 s"), (60, "1 min"), (3540, "59 min"), (3590, "1 h 00 min"),
     (7500, "2 h 05 min"), (140_400, "39 h 00 min")],
)  # fmt: skip
def test_a_time_is_told_in_its_largest_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_short_time_may_have_decimals() -> None:
    assert (duration(7.25, digits=1), duration(4320 * 60, digits=1)) == ("7.2 s", "72 h 00 min")
