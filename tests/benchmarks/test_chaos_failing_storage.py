"""A storage whose calls fail, and runs that do not name it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.chaos.__main__ import main
from benchmarks.chaos.failing_store import FAULTS, failing_store
from benchmarks.chaos.parts.failing_storage import MOST_STARTS, _until_done
from pipeline.storage.location import Storage


def test_a_start_must_succeed_or_name_the_storage() -> None:
    named = "OSError: s3://treeviews/x: refused"
    answers = iter([
        (30, f"Traceback:\n{named}\nINFO: done"),
        (30, "pipeline.storage.StorageError: s3://treeviews/x: refused"),
        (30, f"{named}\nKeyError: 'rows'"),  # named, but it ended by something else
        (30, "ValueError: /home/treeviews/a.parquet is damaged"),
        (30, "KeyError: 'rows'"),
        (None, named),  # it hung
        (0, ""),
    ])  # fmt: skip

    survived = [trial.survived for trial in _until_done("a run", lambda: next(answers))]

    assert survived == [True, True, False, False, False, False, True]


def test_a_run_that_is_never_done_is_seen() -> None:
    *starts, last = _until_done("a run", lambda: (30, "OSError: s3://treeviews/x: refused"))

    assert len(starts) == MOST_STARTS
    assert not last.survived


@pytest.mark.slow
def test_as_many_calls_fail_as_should() -> None:
    pytest.importorskip("moto")
    with failing_store(random.Random(0)) as store:
        storage = Storage(store.address)
        storage.write("a", b"content")
        assert store.num_failed == 0
        store.share = 0.2
        done = 0
        for _ in range(30):
            try:
                done += storage.read("a") == b"content"
            except OSError as error:
                assert "s3://treeviews/prefix/a" in str(error)
        assert 0 < done < 30
        assert all(store.failed[fault] for fault in FAULTS)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_over_a_storage_that_fails_leaves_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("moto")
    assert main(["--work", str(tmp_path / "chaos"), "--parts", "failing_storage", "--quick"]) == 0
