"""How far apart scores must be to stand in the same order in exact arithmetic."""

import math

import pytest
import torch

from pipeline.parsers.dependency_adapter import MULTIPLE, NEAR, Margin, sample_of

GAPS = torch.full((1000,), 0.5)


def moved(by: float) -> Margin:
    margin = Margin()
    margin.learn(GAPS, GAPS + by)
    return margin


def test_without_enough_decisions_no_two_scores_are_far_enough_apart() -> None:
    margin = Margin()
    margin.learn(GAPS[:20], GAPS[:20] + 0.01)
    assert (margin.width, margin.holds) == (math.inf, False)
    margin.begin_call()
    margin.learn(GAPS[:90], GAPS[:90] + 0.01)
    assert margin.holds


def test_it_is_a_multiple_of_what_differences_moved_by() -> None:
    margin = Margin()
    both_ways = torch.where(torch.arange(1000) % 2 == 0, 0.01, -0.01)
    margin.learn(GAPS[:600], GAPS[:600] + both_ways[:600])
    margin.learn(GAPS[600:], GAPS[600:] + both_ways[600:])
    assert margin.width == pytest.approx(MULTIPLE * 0.01, rel=1e-3)
    assert margin.holds


def test_scores_far_apart_do_not_count() -> None:
    margin = moved(0.01)
    margin.learn(GAPS + NEAR, GAPS + NEAR + 5)
    assert margin.width == pytest.approx(MULTIPLE * 0.01, rel=1e-3)


def test_it_does_not_hold_for_a_call_where_one_moved_further() -> None:
    margin = moved(0.01)
    margin.learn(GAPS[:1], GAPS[:1] - 0.5)
    assert not margin.holds
    margin.begin_call()
    margin.learn(GAPS, GAPS + 0.01)
    assert margin.holds


def test_a_call_that_moves_more_has_a_wider_margin_at_once_and_the_next_one_less_again() -> None:
    margin = moved(0.01)
    margin.begin_call()
    margin.learn(GAPS[:100], GAPS[:100] + 0.04)
    assert margin.width == pytest.approx(MULTIPLE * 0.04, rel=1e-3)
    assert margin.holds
    margin.begin_call()
    margin.learn(GAPS, GAPS + 0.01)
    assert MULTIPLE * 0.01 < margin.width < MULTIPLE * 0.02


@pytest.mark.parametrize("margin", [Margin(), moved(0.01)])
@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_what_is_no_number_is_not_trusted(
    score: float, margin: Margin, caplog: pytest.LogCaptureFixture
) -> None:
    spoilt = GAPS.clone()
    spoilt[3] = score
    for gaps, exact_gaps in ((GAPS, spoilt), (spoilt, GAPS)):
        margin.begin_call()
        margin.learn(gaps, exact_gaps)
        assert not margin.holds
        caplog.clear()
        margin.tell_whether_it_holds("mine")
        assert "mine: in a sample, scores in bfloat16 are no numbers" in caplog.text


def test_a_sample_has_middling_and_long_sentences_whatever_their_order() -> None:
    sentences = [[f"w{number}"] * (1 + number % 100) for number in range(2000)]
    middling, long = sample_of(sentences)
    assert [middling, long] == sample_of(sentences[::-1])
    assert {len(sentence) for sentence in middling} == {51}
    assert {len(sentence) for sentence in long} == {99}
    assert len(middling) == len(long) == 16
    assert len(sample_of(sentences[:30])[1]) == 16
