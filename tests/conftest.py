"""Fixtures that several files of tests share."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def only_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Waits until no other process of the tests has a cluster of Ray: they find each other's."""
    with (tmp_path_factory.getbasetemp().parent / "ray.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:  # a child that lives on has the open file, too
            fcntl.flock(lock, fcntl.LOCK_UN)


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

    from treeviews.models.training.numerics import preserve_gemm

    threads = torch.get_num_threads()
    with preserve_gemm():
        yield
    torch.set_num_threads(threads)
