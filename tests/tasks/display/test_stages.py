"""What is known of stages while they run."""

from __future__ import annotations

import pytest

from pipeline.base.job import Rated
from tasks.display import words
from tasks.display.stages import Left, Stages


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stages(clock: Clock) -> Stages:
    """Parsing, and two trainings."""
    found = Stages(clock)
    for task_id, name in (("p", "Parse"), ("t1", "Train"), ("t2", "Train")):
        found.plan(task_id, name)
    return found


def begun_with_parts(stages: Stages) -> None:
    stages.begin("p")
    stages.add_part("p-0", 1.0, is_done=True)
    stages.add_part("p-1", 3.0, is_done=False)
    stages.claim("p", ["p-0", "p-1"])


def test_parts_move_the_share_of_their_stage_and_count_as_none(stages: Stages) -> None:
    begun_with_parts(stages)
    assert stages.running == []  # it waits for its parts
    assert stages.begin("p-1") is None
    stages.progress("p-1", 0.5, "half")
    (parse,) = stages.running
    assert (parse.number, stages.num_planned) == (1, 3)
    assert parse.share == pytest.approx((1.0 + 1.5) / 4.0)
    assert parse.status == "1 of 2 parts done"


def test_a_stage_that_goes_on_after_its_parts_begins_once_and_ends_once(stages: Stages) -> None:
    begun_with_parts(stages)
    stages.begin("p-1")
    assert stages.end("p-1", is_done=True) is None
    assert stages.begin("p") is None
    parse = stages.end("p", is_done=True)
    assert parse is not None
    assert words.ended(parse, stages, is_done=True) == "stage 1 of 3 done in 0 s: Parse"
    assert stages.num_over == 1


def test_a_part_that_fails_ends_its_stage(stages: Stages) -> None:
    begun_with_parts(stages)
    stages.begin("p-1")
    parse = stages.end("p-1", is_done=False)
    assert parse is not None
    assert "failed" in words.ended(parse, stages, is_done=False)


def test_parts_of_parts_belong_to_the_stage(stages: Stages) -> None:
    begun_with_parts(stages)
    stages.begin("p-1")
    stages.add_part("p-1-0", 1.0, is_done=False)
    stages.claim("p-1", ["p-1-0"])
    stages.begin("p-1-0")
    assert [stage.name for stage in stages.running] == ["Parse"]
    assert stages.num_planned == 3


def test_the_time_left_follows_the_pace_once_the_work_moves(clock: Clock, stages: Stages) -> None:
    stages.begin("t1")
    stages.progress("t1", 0.0, "loading")
    clock.time = 20.0
    stages.progress("t1", 0.0, "loading")  # it takes no part in the pace
    (train,) = stages.running
    assert train.seconds_left(clock.time) is None
    clock.time = 30.0
    stages.progress("t1", 0.25, "step")
    assert train.seconds_left(clock.time) == pytest.approx(30.0)
    clock.time = 40.0  # nothing comes any more, so the pace falls
    assert train.seconds_left(clock.time) == pytest.approx(60.0)


def test_what_was_done_before_the_run_is_not_taken_for_its_pace(
    clock: Clock, stages: Stages
) -> None:
    stages.begin("t1")
    stages.progress("t1", 0.8, "resumed")
    clock.time = 10.0
    stages.progress("t1", 0.9, "step")
    assert stages.running[0].seconds_left(clock.time) == pytest.approx(10.0)


def test_what_has_no_room_is_left_out_whole(stages: Stages) -> None:
    assert words.how_far(stages, None, 29) == "0 of 3 stages done"
    assert words.how_far(stages, None, 40) == "0 of 3 stages done, 0 s so far"


def test_stages_of_which_none_is_done_are_judged_by_those_that_are(
    clock: Clock, stages: Stages
) -> None:
    stages.begin("p")
    clock.time = 30.0
    stages.end("p", is_done=True)
    stages.begin("t1")
    stages.progress("t1", 0.0, "")
    clock.time = 40.0
    stages.progress("t1", 0.5, "")
    # This training takes 10 s more, the other one as long as parsing took.
    assert stages.left(1) == Left(pytest.approx(40.0), is_all=False)


def test_few_seconds_of_one_stage_say_nothing_of_the_others(clock: Clock, stages: Stages) -> None:
    stages.begin("t1")
    stages.progress("t1", 0.0, "")
    clock.time = 50.0
    stages.progress("t1", 0.99, "step")
    assert stages.left(2) is None


def test_the_time_of_all_is_at_least_that_of_what_is_known(clock: Clock, stages: Stages) -> None:
    assert stages.left(2) is None
    stages.begin("t1")
    stages.progress("t1", 0.0, "")
    clock.time = 10.0
    stages.progress("t1", 0.5, "")
    assert stages.left(2) == Left(pytest.approx(10.0), is_all=False)
    stages.end("t1", is_done=True)
    stages.begin("p")
    stages.progress("p", 0.0, "")
    clock.time = 20.0
    stages.progress("p", 0.5, "")
    # Parsing takes 10 s more, the other training as long as the first one.
    assert stages.left(2) == Left(pytest.approx(10.0), is_all=True)
    assert stages.left(1) == Left(pytest.approx(20.0), is_all=True)


def test_rates_of_what_runs_side_by_side_add_up(stages: Stages) -> None:
    stages.begin("p")
    for number in range(2):
        stages.add_part(f"p-{number}", 1.0, is_done=False)
    stages.claim("p", ["p-0", "p-1"])
    for number in range(2):
        stages.begin(f"p-{number}")
        stages.progress(f"p-{number}", 0.1, Rated("text", 600.0))
    assert words.rate_of(stages.running[0]) == "1,200 sentences/s"


def test_what_is_not_done_is_never_told_as_100_percent(stages: Stages) -> None:
    stages.begin("t1")
    stages.progress("t1", 1.0, "writing")
    assert words.percent_of(stages.running[0]) == "99 %"


def test_text_is_told_on_one_line_without_controls_and_secrets() -> None:
    text = "a\x1b[31mb\nhttps://user:hunter2@host/x"
    assert words.cut(text, 80) == "a\\x1b[31mb\\nhttps://***@host/x"
    assert words.cut("abcdef", 4) == "abc…"
