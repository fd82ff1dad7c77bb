"""What failed in a run of Luigi, as a person is told: the cause's own sentence, nothing below.

A stage fails in a forked worker, when it is scheduled, or because it was asked for wrongly. Each
leaves a `Failure` in the process that runs Luigi, which tells the first of them when all else is
done. Tracebacks are kept in files.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import luigi

from pipeline.base.mistakes import (
    FAILED,
    MISTAKE,
    error_lines,
    is_mistake,
    keep_traceback,
    sentence_of,
)

_KEPT_BY_JOB = re.compile(r" \[traceback: (?P<path>.+)\]$")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a stage is not done."""

    stage: str
    """The task's name."""
    sentence: str
    is_mistake: bool
    """Whether the user can mend it."""
    traceback: Path | None

    @classmethod
    def of(cls, task: luigi.Task, error: BaseException) -> Failure:
        """Returns what an error of a task is told as, and keeps its traceback.

        Outside of the work folder, whose bytes tell nothing of runs that failed.
        """
        sentence = sentence_of(error)
        kept = _KEPT_BY_JOB.search(sentence)
        path: Path | None
        if kept is not None:
            sentence, path = sentence[: kept.start()], Path(kept["path"])
        else:
            path = keep_traceback(error)
        return cls(task.task_family, sentence, is_mistake(error), path)


class ToldFailure(str):
    """What a forked worker hands over of a failure: the text for Luigi's page, and the failure."""

    failure: Failure

    def __new__(cls, text: str, failure: Failure | None = None) -> ToldFailure:
        """Returns the text; pickle gives it alone and sets the failure itself."""
        told = super().__new__(cls, text)
        if failure is not None:
            told.failure = failure
        return told


_failures: list[Failure] = []
"""Of the run that is on or was last in this process."""


def forget_failures() -> None:
    """Begins a new run."""
    _failures.clear()


def remember_failure(failure: Failure) -> None:
    """Adds a failure to those of this run; one of a stage that failed so before counts once."""
    if failure.sentence not in [known.sentence for known in _failures]:
        _failures.append(failure)


def any_failure() -> bool:
    """Returns whether anything failed so far."""
    return bool(_failures)


def has_failed(stage: str) -> bool:
    """Returns whether a task of this name failed."""
    return any(failure.stage == stage for failure in _failures)


def only_mistakes() -> bool:
    """Returns whether something failed, and nothing that the user cannot mend."""
    return bool(_failures) and all(failure.is_mistake for failure in _failures)


def exit_code() -> int:
    """Returns the exit code of a run that is not done."""
    return MISTAKE if only_mistakes() else FAILED


def told_failures() -> list[str]:
    """Returns the lines that a run ends with: the first failure, and that there are others.

    Without the word ``error`` before them, which a logger says. None if nothing failed.
    """
    if not _failures:
        return []
    first, *others = _failures
    lines = [first.sentence]
    if first.traceback is not None:
        lines.append(f"traceback: {first.traceback}")
    if others:
        stages = ", ".join(dict.fromkeys(failure.stage for failure in others))
        lines.insert(1, f"{len(others)} more failed, too: {stages}")
    return lines


def refuse(sentence: str, *, remedy: str = "") -> NoReturn:
    """Tells a mistake in what was asked for, and ends the command.

    Raises:
        SystemExit: always, with the code of a mistake.
    """
    sys.stdout.flush()
    lines = [*error_lines(sentence), *([remedy] if remedy else [])]
    print(*lines, sep="\n", file=sys.stderr, flush=True)
    raise SystemExit(MISTAKE)
