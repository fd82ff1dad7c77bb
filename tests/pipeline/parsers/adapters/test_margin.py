"""How far apart scores must be to stand in the same order in exact arithmetic."""

import math

import pytest
import torch

from pipeline.parsers.adapters.checked import MULTIPLE, NEAR, Margin, sample_of


def test_without_enough_decisions_no_two_scores_are_far_enough_apart() -> None:
    margin = Margin()
    margin.learn(torch.full((20,), 0.5), torch.full((20,), 0.51))
    assert (margin.width, margin.holds) == (math.inf, True)


def test_it_is_a_multiple_of_what_differences_moved_by() -> None:
    margin = Margin()
    gaps = torch.full((1000,), 0.5)
    moved = torch.where(torch.arange(1000) % 2 == 0, 0.01, -0.01)
    margin.learn(gaps[:600], gaps[:600] + moved[:600])
    margin.learn(gaps[600:], gaps[600:] + moved[600:])
    assert margin.width == pytest.approx(MULTIPLE * 0.01, rel=1e-3)
    assert margin.holds


def test_scores_far_apart_do_not_count() -> None:
    margin = Margin()
    gaps = torch.full((1000,), 0.5)
    margin.learn(gaps, gaps + 0.01)
    margin.learn(gaps + NEAR, gaps + NEAR + 5)
    assert margin.width == pytest.approx(MULTIPLE * 0.01, rel=1e-3)


def test_it_does_not_hold_where_one_moved_further() -> None:
    margin = Margin()
    gaps = torch.full((1000,), 0.5)
    margin.learn(gaps, gaps + 0.01)
    margin.learn(gaps[:1], gaps[:1] - 0.5)
    assert not margin.holds


def test_a_sample_is_of_like_length_and_always_the_same() -> None:
    sentences = [["w"] * (1 + number % 40) for number in range(2000)]
    found = sample_of(sentences)
    assert found == sample_of(sentences[::-1])
    assert {len(sentence) for sentence in found} <= {21, 22}
    assert 30 < len(found) < 100
