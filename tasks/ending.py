"""How a run ends: what came of it, or why it failed and which command goes on.

Whatever ends it, nothing of Luigi's or of the display comes after these lines; of a run that
succeeded, the result's path does.
"""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import luigi
from luigi.task import flatten

from models.listing import main_score
from models.training.logs import duration
from pipeline.base.foreign_text import told, without_secrets
from pipeline.base.mistakes import error_lines
from tasks import failures
from tasks.artefact import Artefact, ReportingTask, ShardStage

_PROGRAMS = ("luigi", "treeviews")


def command_line() -> str | None:
    """Returns the command that runs this process, without secrets, as a shell takes it.

    Returns:
        None where it is no command of ours, such as in a notebook.
    """
    program = Path(sys.argv[0])
    if program.name in _PROGRAMS:
        words = [program.name]
    elif program.name == "__main__.py" and program.parent.name in _PROGRAMS:
        words = ["python", "-m", program.parent.name]
    else:
        return None
    return without_secrets(shlex.join([*words, *map(without_secrets, sys.argv[1:])]))


def say(lines: Iterable[str]) -> None:
    """Writes lines to standard error; where nobody reads it, they are lost."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.write("".join(f"{line}\n" for line in lines))
        sys.stderr.flush()


def failure_lines(*, has_begun: bool) -> list[str]:
    """Returns what a failed run ends with: the cause with its remedy, then how to go on.

    Args:
        has_begun: whether any work was done, with which the same command goes on.
    """
    lines = failures.told_failures(has_begun=has_begun)
    if not lines:
        return []
    if not has_begun:
        return [*error_lines(lines[0]), *lines[1:]]
    # The same command fails again as long as what the user is to mend is not.
    first = "when that is mended, " if failures.only_mistakes() else ""
    return [*error_lines(lines[0]), *lines[1:], *_how_to_go_on(first)]


def _how_to_go_on(first: str = "") -> list[str]:
    command = command_line()
    return [f"{first}go on with: {told(command)}"] if command else []


def success_lines(roots: Sequence[luigi.Task], num_stages: int, seconds: float) -> list[str]:
    """Returns what a run ends with that did what it was asked for, before the result's path."""
    if num_stages:
        count = "1 stage" if num_stages == 1 else f"all {num_stages} stages"
        lines = [f"{count} done in {duration(seconds)}"]
    else:
        lines = ["everything was done before"]
    for root in roots:
        with suppress(OSError, ValueError, LookupError, TypeError):
            lines += map(told, _headline_of(root))
    return lines


def _headline_of(root: luigi.Task) -> list[str]:
    """Returns what a stage says that came of it, or else its main score.

    Of one that only asks for others, what those say that are no shards.
    """
    if own := root.headline() if isinstance(root, ReportingTask) else []:
        return own
    if isinstance(root, luigi.WrapperTask):
        asked = [one for one in flatten(root.requires()) if isinstance(one, Artefact)]
        results = [one for one in asked if not isinstance(one, ShardStage)]
        return [sentence for one in results for sentence in _headline_of(one)]
    score = main_score(root.folder) if isinstance(root, Artefact) else ""
    return [score] if score else []


@contextmanager
def told_interrupts() -> Iterator[None]:
    """Tells, for the time of a ``with`` block, how to go on if Ctrl-C or SIGTERM ends it.

    Raises:
        KeyboardInterrupt: one of them did; see `is_told`.
    """
    before = signal.getsignal(signal.SIGTERM)
    # Whoever runs us may have a way of its own.
    is_ours = before is signal.SIG_DFL and threading.current_thread() is threading.main_thread()
    if is_ours:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt as error:
        say([*error_lines("interrupted; what is complete is kept"), *_how_to_go_on()])
        error.is_told = True  # type: ignore[attr-defined]
        sys.excepthook = _silent_of_interrupts(sys.excepthook)
        raise  # the very error: by it the process ends as one that Ctrl-C has ended
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, before)


def is_told(error: BaseException) -> bool:
    """Returns whether the user knows of an error already."""
    return bool(getattr(error, "is_told", False))


def _silent_of_interrupts(tell: Any) -> Any:
    """Returns what tells of errors that end the process, but of interrupts that are told."""

    def tell_others(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if not is_told(error):
            tell(kind, error, trace)

    return tell_others
