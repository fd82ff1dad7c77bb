"""Tests that start a cluster of Ray."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

TestT = TypeVar("TestT", bound=Callable[..., object])

MARKS = (
    pytest.mark.slow,
    pytest.mark.timeout(900),  # waiting for the turn counts
    pytest.mark.usefixtures("only_cluster"),
)


def on_ray(test: TestT) -> TestT:
    """Marks a test as slow, which waits until no other process has a cluster of Ray."""
    for mark in MARKS:
        test = mark(test)
    return test
