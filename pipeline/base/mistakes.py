"""What a command answers a person: whose fault an error is, what was meant, where the details lie.

A command ends with one of three codes wherever it is started, and tells an error in its own
sentence: what is wrong and what to do about it. Where it was raised is for whoever asks, in a file.
"""

from __future__ import annotations

import errno
import os
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from treeviews.pipeline.base.foreign_text import told

DONE, FAILED, MISTAKE = 0, 1, 2
"""Exit codes: the work is done; it failed; it was not asked for rightly, which the user mends."""

_MISTAKES = (
    ValueError,
    FileNotFoundError,
    FileExistsError,
    NotADirectoryError,
    IsADirectoryError,
    PermissionError,
    ModuleNotFoundError,
)

_FULL = "no space left on the device; free some or write elsewhere"

_REMEDIES = {
    FileNotFoundError: "; check the path",
    PermissionError: "; ask for access, or give another place",
    IsADirectoryError: "; give a file",
    NotADirectoryError: "; give a folder",
}
"""What to do about an error of the system, which says none."""


class DamagedError(ValueError):
    """A file is no longer as it was written, which no other command would mend."""


class MistakesError(ValueError):
    """Several mistakes of the user's, a sentence each."""

    def __str__(self) -> str:
        return "; ".join(self.args)


def is_mistake(error: BaseException) -> bool:
    """Says whether an error is the user's to mend: their input, parameters, files, installation."""
    return isinstance(error, _MISTAKES) or getattr(error, "is_mistake", False)


def code_of(error: BaseException) -> int:
    """Returns the exit code of a command that ends with this error."""
    return MISTAKE if is_mistake(error) and not isinstance(error, DamagedError) else FAILED


def sentence_of(error: BaseException) -> str:
    """Returns in one line what is wrong, without secrets; an unforeseen error says its kind."""
    text, is_full = " ".join(str(error).split()), False
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"{error.filename}: {error.strerror}{_REMEDIES.get(type(error), '')}"
        if error.filename2 is not None:
            text = f"{error.filename} to {error.filename2}: {error.strerror}"
        if is_full := error.errno == errno.ENOSPC:
            text = f"{error.filename}: {_FULL}"
    elif isinstance(error, OSError) and error.errno == errno.ENOSPC:  # as libraries tell it
        text, is_full = _FULL, True
    kind = type(error).__name__
    plain = text and (is_mistake(error) or is_full or getattr(error, "is_told", False))
    return told(text if plain else f"{kind}: {text}" if text else kind)


def mistakes_of(error: BaseException) -> tuple[str, ...]:
    """Returns the sentences of an error, of which `MistakesError` has several."""
    return error.args if isinstance(error, MistakesError) else (sentence_of(error),)


def refuse_together(*checks: Callable[[], object]) -> None:
    """Calls checks, each of which refuses mistakes of the user's, and refuses all of them together.

    Raises:
        ValueError: the only mistake, or all.
    """
    errors: list[Exception] = []
    for check in checks:
        try:
            check()
        except Exception as error:
            if not is_mistake(error):
                raise
            errors.append(error)
    raise_together(errors)


def raise_together(errors: Sequence[Exception]) -> None:
    """Raises the only error as it is, several as `MistakesError`, of none nothing."""
    if errors:
        sentences = dict.fromkeys(said for error in errors for said in mistakes_of(error))
        raise errors[0] if len(sentences) == 1 else MistakesError(*sentences)


def did_you_mean(*names: str, known: Iterable[str]) -> str:
    """Returns ``; did you mean X?`` for names that resemble known ones, in any case, or nothing."""
    by_small = {name.lower(): name for name in known}
    close = [get_close_matches(str(name).lower(), list(by_small), n=1) for name in names]
    meant = dict.fromkeys(by_small[match] for matches in close for match in matches)
    return f"; did you mean {', '.join(meant)}?" if meant else ""


def keep_traceback(error: BaseException) -> Path | None:
    """Writes where an error was raised into a new file of the system's temporary folder.

    Without secrets.

    Returns:
        Its path; None of a mistake that we foresaw, whose sentence says all, and where nothing can
        be written, which must not hide the error itself.
    """
    if _is_foreseen(error):
        return None
    lines = told("".join(traceback.format_exception(error)), keep_lines=True)
    with suppress(OSError):
        number, name = tempfile.mkstemp(".traceback.txt", "treeviews-")
        with os.fdopen(number, "w", encoding="utf-8") as stream:
            stream.write(lines)
        return Path(name)
    return None


def _is_foreseen(error: BaseException) -> bool:
    """Returns whether an error, and what caused it, are mistakes that say where they lie.

    That is so of those raised in our code, and of a file or folder that the system names; not of a
    ``ValueError`` that a library met.
    """
    if not is_mistake(error) or (error.__cause__ is not None and not is_mistake(error.__cause__)):
        return False
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return True
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and frames[-1].f_globals.get("__name__", "").startswith("treeviews.")


def error_lines(sentence: str, where: Path | None = None) -> list[str]:
    """Returns what a command ends with on standard error: the sentence, and where it came from."""
    return [f"error: {sentence}", *([f"traceback: {where}"] if where is not None else [])]
