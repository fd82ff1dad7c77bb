"""What failed in a run of Luigi, as a person is told: the cause's own sentence, nothing below.

A stage fails in a forked worker, when it is scheduled, or because it was asked for wrongly. Each
leaves a `Failure` in the process that runs Luigi, which tells the first of them when all else is
done. Tracebacks are kept in files.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

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


_refused: list[str] = []
"""Why the run that is on cannot be, as the checks before it say."""


def forget_failures() -> None:
    """Begins a new run."""
    _failures.clear()
    _refused.clear()


def refuse_run(stage: str, sentences: Sequence[str]) -> None:
    """Has the run that is on end before anything of it is looked at.

    Args:
        stage: that was asked for.
        sentences: why, the user's mistakes each with its remedy; none lets it run.
    """
    _refused.extend(sentences)
    for sentence in sentences:
        remember_failure(Failure(stage, sentence, True, None))


def is_refused() -> bool:
    """Returns whether the run that is on is not to be."""
    return bool(_refused)


def remember_failure(failure: Failure) -> None:
    """Adds a failure to those of this run."""
    _failures.append(failure)


def any_failure() -> bool:
    """Returns whether anything failed so far."""
    return bool(_failures)


def has_failed(stage: str) -> bool:
    """Returns whether a task of this name failed."""
    return any(failure.stage == stage for failure in _failures)


def is_done(result: Any) -> bool:
    """Returns whether a run did all that was asked for, by what Luigi says of it."""
    good = (luigi.LuigiStatusCode.SUCCESS, luigi.LuigiStatusCode.SUCCESS_WITH_RETRY)
    return result.status in good


def remember_not_run(result: Any) -> None:
    """Adds that stages were not run where the run is not done, and yet nothing failed."""
    if not is_done(result) and not _failures:
        sentence = (
            "not all was run, as another run holds what is needed, or no stage makes it; run the "
            "command again when that one has ended, or put it there"
        )
        remember_failure(Failure("RunAll", sentence, False, None))


def only_mistakes() -> bool:
    """Returns whether something failed, and nothing that the user cannot mend."""
    return bool(_failures) and all(failure.is_mistake for failure in _failures)


def exit_code() -> int:
    """Returns the exit code of a run that is not done."""
    return MISTAKE if only_mistakes() else FAILED


def told_failures(*, has_begun: bool = True) -> list[str]:
    """Returns the lines that a run ends with: the first failure, and that there are others.

    What several stages failed by is told once. Without the word ``error`` before them, which a
    logger says. None if nothing failed.

    Args:
        has_begun: whether any work was done; if none was, all that stands in its way is told.
    """
    if not _failures:
        return []
    by_sentence: dict[str, Failure] = {}
    for failure in _failures:
        by_sentence.setdefault(failure.sentence, failure)
    first, *others = by_sentence.values()
    where = [f"traceback: {first.traceback}"] if first.traceback is not None else []
    if not others:
        return [first.sentence, *where]
    if not has_begun:
        told = [f"- {sentence}" for sentence in by_sentence]
        return [f"{len(told)} things are in the way of this run:", *told, *where]
    stages = ", ".join(dict.fromkeys(failure.stage for failure in others))
    return [first.sentence, f"{len(others)} more failed, too: {stages}", *where]


def refuse(sentence: str, *, remedy: str = "") -> NoReturn:
    """Tells a mistake in what was asked for, and ends the command.

    Raises:
        SystemExit: always, with the code of a mistake.
    """
    sys.stdout.flush()
    lines = [*error_lines(sentence), *([remedy] if remedy else [])]
    print(*lines, sep="\n", file=sys.stderr, flush=True)
    raise SystemExit(MISTAKE)
