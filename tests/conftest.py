"""Fixtures that several files of tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps the tests of a file together where two processes share the tests.

    Files that name a group of their own stay together: two of Ray's local clusters disturb each
    other.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.location[0]))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Has torch compute on one thread, and as before after the test.

    Small matrices on a busy machine take twenty times longer with two threads than with one.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def machine_as_before() -> Iterator[None]:
    """Restores torch's number of threads and the choice of a matrix product after the test."""
    import torch

    from models.encoders.kernels.gemm import gemm_kept

    threads = torch.get_num_threads()
    with gemm_kept():
        yield
    torch.set_num_threads(threads)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has no run say that it takes long to look at what is there, as it does on a slow machine."""
    monkeypatch.setattr("tasks.display.shown_run._LONG_LOOK", 600.0)
