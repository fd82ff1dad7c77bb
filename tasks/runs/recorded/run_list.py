"""The recorded runs of a work folder as a list: what each is, what came of it, what it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from typing import Any

from models.training.logs import duration
from pipeline.base.foreign_text import printable
from tasks.runs.folders import bytes_below
from tasks.runs.recorded.asked_words import asked_lines, options_in_words
from tasks.runs.records import Record, RecordedScore, Records
from tasks.runs.words import aligned, size_in_words

_ASKED = "stage and what differs"
_LEAST_CHARACTERS = 40
"""Of what differs, where it has a column of its own."""
_MOST_OF_SCORES = 42
"""Characters of the scores of a run, in the list."""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A recorded run as the list has it."""

    record: Record
    state: str
    """``at work``, ``done``, ``failed``, ``interrupted``, ``unfinished`` (it was killed), or
    ``gone``: it was done, and what it made is not there any more."""
    own_bytes: int
    """Of folders that no other recorded run needs."""
    shared_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Returns it as JSON knows it; its stages by their folders alone."""
        record = self.record
        return {
            "name": record.name,
            "stage": record.stage,
            "parameters": dict(record.parameters),
            "state": self.state,
            "began": record.last.began,
            "attempts": record.earlier_attempts + len(record.attempts),
            "seconds": seconds_of(record),
            "own_bytes": self.own_bytes,
            "shared_bytes": self.shared_bytes,
            "scores": [asdict(score) for score in record.scores],
            "headline": list(record.headline),
            "result": record.result,
            "failures": [asdict(failure) for failure in record.last.failures],
        }


def listed(records: Records, name: str | None = None) -> list[ListedRun]:
    """Returns recorded runs, the last one last; `Records.damaged` has what is none.

    Args:
        name: of the one that is looked at; None looks at all.
    """
    found = list(records)
    users = Counter(path for record in found for path in record.folders)

    @cache
    def size(path: str) -> int:
        return bytes_below(records.work_folder / path) or 0

    return [_listed(records, one, users, size) for one in found if name in (None, one.name)]


def state_of(records: Records, record: Record) -> str:
    """Returns the state of a run, as `ListedRun.state` has it."""
    if records.is_at_work(record.digest):
        return "at work"
    if record.last.outcome == "done" and record.result:
        return "done" if (records.work_folder / record.result).exists() else "gone"
    return record.last.outcome


def _listed(
    records: Records, record: Record, users: Mapping[str, int], size: Callable[[str], int]
) -> ListedRun:
    sizes = {path: size(path) for path in record.folders}
    return ListedRun(
        record=record,
        state=state_of(records, record),
        own_bytes=sum(n for path, n in sizes.items() if users[path] == 1),
        shared_bytes=sum(n for path, n in sizes.items() if users[path] > 1),
    )


def list_lines(runs: list[ListedRun], width: int | None = None) -> list[str]:
    """Returns the list as a table for people.

    Args:
        runs: that are listed.
        width: characters of a line; what has no room for a column stands below its run then. None
            where any number fits.
    """
    header = ["name", "state", "when", "took", "own", "shared"]
    facts = aligned([header, *map(_facts, runs)], right=(3, 4, 5))
    scores = [_short(", ".join(score_in_brief(one) for one in run.record.scores)) for run in runs]
    head, *in_columns = aligned(list(zip(facts, ["scores", *scores], strict=True)))
    offset = max(map(len, (head, *in_columns))) + 2
    records = [run.record for run in runs]
    if width is None or width - offset >= _LEAST_CHARACTERS:
        asked = asked_lines(records, None if width is None else width - offset)
        lines = [f"{head:{offset}}{_ASKED}"]
        for row, (first, *more) in zip(in_columns, asked, strict=True):
            lines += [f"{row:{offset}}{first}", *(f"{'':{offset}}{one}" for one in more)]
        return lines
    indent = "    "
    lines = [facts[0], f"{indent}{_ASKED}"]
    asked = asked_lines(records, max(width - len(indent), _LEAST_CHARACTERS))
    for row, of_run, told in zip(facts[1:], scores, asked, strict=True):
        with_scores = [*told, f"scores: {of_run}"] if of_run else told
        lines += [row, *(f"{indent}{one}" for one in with_scores)]
    return lines


def _facts(run: ListedRun) -> list[str]:
    seconds = seconds_of(run.record)
    return [
        run.record.name,
        run.state,
        when(run.record.last.began),
        "" if seconds is None else duration(seconds),
        size_in_words(run.own_bytes),
        size_in_words(run.shared_bytes),
    ]


def _short(scores: str) -> str:
    most = _MOST_OF_SCORES
    return scores if len(scores) <= most else f"{scores[: most - 2].rstrip(', ')} …"


def show_lines(run: ListedRun) -> list[str]:
    """Returns all that is known of one run."""
    record, last = run.record, run.record.last
    facts = [
        ("state", run.state),
        ("stage", record.stage),
        ("parameters", " ".join(options_in_words(record.parameters)) or "all at their defaults"),
        ("command", last.command or "none: Python asked"),
        ("began", f"{when(last.began)} on {last.host}"),
        ("attempts", str(record.earlier_attempts + len(record.attempts))),
        ("took", _took(record)),
        ("release", ", ".join(f"{name} {version}" for name, version in last.versions.items())),
        ("commit", last.commit or "not known"),
        ("size", f"{size_in_words(run.own_bytes)} own, {size_in_words(run.shared_bytes)} shared"),
        ("scores", ", ".join(map(score_in_words, record.scores)) or "none"),
        ("result", record.result or "none"),
        *(("", sentence) for sentence in record.headline),
        *((f"failed: {one.stage}", one.sentence) for one in last.failures),
    ]
    return aligned([(name, printable(text)) for name, text in facts])


def score_in_words(score: RecordedScore) -> str:
    """Returns a score with its name, and the deviation over seeds where there is one."""
    return f"{printable(score.name)} {_figure(score)}"


def score_in_brief(score: RecordedScore) -> str:
    """Returns a score as `score_in_words` does, of a table without the title of its row."""
    return f"{printable(score.name)} {_figure(score)}"


def _figure(score: RecordedScore) -> str:
    spread = "" if score.deviation is None else f" ± {score.deviation:.1f}"
    return f"{score.value:.1f}{spread}"


def _took(record: Record) -> str:
    """Returns the time of a run, and of which of its attempts that is the time."""
    if (seconds := seconds_of(record)) is None:
        return "not known"
    ended = sum(one.seconds is not None for one in record.attempts)
    total = record.earlier_attempts + len(record.attempts)
    if total == 1:
        return duration(seconds)
    which = "all" if ended == total else f"{ended} of its"
    return f"{duration(seconds)} in {which} {total} attempts"


def seconds_of(record: Record) -> float | None:
    """Returns the seconds of all attempts that are kept; None where none has ended."""
    known = [one.seconds for one in record.attempts if one.seconds is not None]
    return sum(known) if known else None


def when(moment: str) -> str:
    """Returns a date and time to the minute, as it was here, or the text where it is none."""
    try:
        return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return printable(moment)
