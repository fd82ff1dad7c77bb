"""Memory over many sentences: flat, or seen to grow."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.chaos.__main__ import main
from benchmarks.chaos.parts.memory import MOST_GROWTH_MIB, flat, sentence


@pytest.mark.parametrize(
    ("mib", "survived"),
    [
        ([300.0, 302.0, 299.0, 301.0], True),
        ([300.0, 300.0 + MOST_GROWTH_MIB, 300.0, 300.0], True),  # a peak is no growth
        ([300.0, 340.0, 380.0, 420.0], False),
        ([300.0], False),
    ],
)
def test_growth_is_told_from_noise(mib: list[float], survived: bool) -> None:
    assert flat("a job", list(enumerate(mib))).survived is survived


def test_sentences_are_short_and_have_new_words() -> None:
    sentences = [sentence(0, number) for number in range(50)]

    assert {len(words) for words in sentences} == {3, 4, 5}
    assert len({words[-2] for words in sentences}) == 50
    assert sentences == [sentence(0, number) for number in range(50)]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_stays(tmp_path: Path) -> None:
    assert main(["--work", str(tmp_path / "chaos"), "--parts", "memory", "--quick"]) == 0
