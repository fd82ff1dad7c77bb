"""The reasons of a run's stages, as lines for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from pipeline.base.foreign_text import printable
from tasks.runs.graph import Stage
from tasks.runs.status import counted
from tasks.runs.why.reasons import Reason

_MOST_NAMED = 4
"""Stages of one name that are told apart."""


def reasons_lines(
    stages: list[Stage], reasons: list[Reason], *, with_done: bool = False
) -> list[str]:
    """Returns the reasons, those that several stages of a name share told once.

    Args:
        stages: of the run.
        reasons: of those that would run, in order.
        with_done: names the others, too.
    """
    names = {stage.id: stage.name for stage in stages}
    alike: dict[tuple[Any, ...], list[Reason]] = {}
    for reason in reasons:
        because = tuple(dict.fromkeys(names[one] for one in reason.because))
        key = (reason.name, reason.kind, reason.sentences, because)
        alike.setdefault(key, []).append(reason)
    lines = []
    for (_, _, sentences, because), group in alike.items():
        lines.append(_title(group))
        lines += [f"  {printable(sentence)}" for sentence in sentences]
        if because:
            verb = "changes" if len(because) == 1 else "change"
            lines.append(f"  because {_listed(because)} {verb}")
    if with_done:
        lines += _done(stages, {reason.stage for reason in reasons})
    return [*lines, *([""] if lines else []), _last_line(reasons)]


def reasons_facts(
    stages: list[Stage], reasons: list[Reason], *, with_done: bool = False
) -> dict[str, Any]:
    """Returns the same as JSON knows it."""
    facts: dict[str, Any] = {"would_run": [asdict(reason) for reason in reasons]}
    if with_done:
        wanted = {reason.stage for reason in reasons}
        facts["done"] = [one.id for one in stages if one.folders and one.id not in wanted]
    return facts


def _title(group: list[Reason]) -> str:
    told = [printable(reason.about) for reason in group if reason.about]
    if len(told) > _MOST_NAMED:
        told = [*told[: _MOST_NAMED - 1], f"and {len(told) - _MOST_NAMED + 1} more"]
    apart = "; ".join(told)
    return f"{group[0].name} ({apart})" if told else group[0].name


def _done(stages: list[Stage], wanted: Iterable[str]) -> list[str]:
    left = [stage.name for stage in stages if stage.folders and stage.id not in wanted]
    return [f"done or not needed: {counted(left)}"] if left else []


def _last_line(reasons: list[Reason]) -> str:
    if not reasons:
        return "nothing would run: all that was asked for is there"
    return f"would run: {counted([reason.name for reason in reasons])}"


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
