"""How progress comes from the processes that work to the one that shows it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pipeline.base.job import Rated
from tasks.display.channel import Channel, listen, listen_no_more, report


@pytest.fixture
def channel() -> Iterator[Channel]:
    opened = Channel()
    listen(opened)
    yield opened
    listen_no_more(opened)


def test_a_forked_process_is_heard(channel: Channel) -> None:
    if (child := os.fork()) == 0:
        report("task", 0.25, Rated("3 of 12 sentences", 7.5))
        os._exit(0)
    os.waitpid(child, 0)
    (told,) = channel.received()
    assert (told.task_id, told.share, told.status) == ("task", 0.25, "3 of 12 sentences")
    assert isinstance(told.status, Rated)
    assert told.status.per_second == 7.5


def test_nobody_waits_for_who_does_not_read(channel: Channel) -> None:
    for _ in range(5_000):
        report("task", 0.5, "working")
    assert 0 < len(channel.received()) < 5_000
    report("task", 1.0, "done")
    assert channel.received()[-1].share == 1.0


def test_a_long_status_is_cut(channel: Channel) -> None:
    report("task", 0.5, "\N{SNOWMAN}" * 10_000)
    (told,) = channel.received()
    assert 0 < len(told.status) < 1_000


def test_without_a_listener_nothing_happens() -> None:
    report("task", 0.5, "working")
