"""What is said of stages, as short lines of text."""

from __future__ import annotations

from models.training.logs import duration
from pipeline.base.foreign_text import told
from tasks.display.stages import Left, Stage, Stages

ELLIPSIS = "…"


def cut(text: str, width: int) -> str:
    """Returns text on one line, without secrets and controls, with its end cut off if too long."""
    line = " ".join(told(text).split())
    return line if len(line) <= width else line[: max(width - 1, 0)] + ELLIPSIS


def place_of(stage: Stage, stages: Stages) -> str:
    """Returns ``stage 3 of 24``."""
    return f"stage {stage.number} of {stages.num_planned}"


def begun(stage: Stage, stages: Stages) -> str:
    """Returns what is said when a stage begins."""
    return f"{place_of(stage, stages)} begins: {stage.called}"


def ended(stage: Stage, stages: Stages, *, is_done: bool) -> str:
    """Returns what is said when a stage ends."""
    how = "done" if is_done else "failed"
    return f"{place_of(stage, stages)} {how} in {duration(stage.took)}: {stage.called}"


def how_far(stages: Stages, left: Left | None, width: int | None = None) -> str:
    """Returns what is said of the run: ``7 of 24 stages done, 2 min so far, …``.

    Args:
        width: characters that there is room for; what comes last is left out first.
    """
    parts = [f"{stages.num_over} of {stages.num_planned} stages done"]
    parts.append(f"{duration(stages.seconds)} so far")
    if left is not None:
        parts.append(f"{'about' if left.is_all else 'at least'} {duration(left.seconds)} left")
    while width is not None and len(parts) > 1 and len(", ".join(parts)) > width:
        parts.pop()
    return ", ".join(parts)


def rate_of(stage: Stage) -> str:
    """Returns ``52 sentences/s``; nothing where the stage does not say it."""
    if stage.rate is None:
        return ""
    per_second, unit = stage.rate
    return f"{per_second:,.{0 if per_second >= 10 else 1}f} {unit}/s"


def left_of(stage: Stage, now: float) -> str:
    """Returns ``3 min left``; nothing where that is not known."""
    seconds = stage.seconds_left(now)
    return "" if seconds is None else f"{duration(seconds)} left"


def percent_of(stage: Stage) -> str:
    """Returns ``45 %``, rounded down: what is not done is never 100 %."""
    return f"{min(int(100 * stage.share), 99)} %"


def short(stage: Stage, now: float) -> str:
    """Returns a running stage in a few words: ``ParseDependencies 45 %, 52 sentences/s``."""
    facts = [f"{stage.called} {percent_of(stage)}", rate_of(stage) or stage.status]
    return ", ".join(fact for fact in (*facts, left_of(stage, now)) if fact)
