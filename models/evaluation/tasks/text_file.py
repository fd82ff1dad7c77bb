"""One file of a task's data: its lines, and errors that name the line."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Encoding = Literal["utf-8", "latin-1"]
"""SentEval reads the films', customers', opinions' and questions' files as latin-1, all others as
UTF-8."""

Tokens = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextFile:
    """The lines of a file, without their ends."""

    path: Path
    lines: tuple[str, ...]
    sha256: str

    def malformed(self, row: int, problem: str) -> ValueError:
        """Returns the error of a line that does not have the file's format.

        Args:
            row: the line's position, from 0.
        """
        return ValueError(
            f"{self.path}, line {row + 1}: {problem}; restore the file from the published data"
        )

    def columns(self, row: int, least: int) -> list[str]:
        """Returns the tab-separated columns of a line, blanks at its ends removed before.

        Raises:
            ValueError: fewer than ``least`` columns.
        """
        columns = self.lines[row].strip().split("\t")
        if len(columns) < least:
            raise self.malformed(
                row, f"{len(columns)} tab-separated columns where {least} are needed"
            )
        return columns

    def score(self, row: int, text: str, lowest: float, highest: float) -> float:
        """Returns a gold score.

        Raises:
            ValueError: not a number from ``lowest`` to ``highest``.
        """
        try:
            score = float(text)
        except ValueError:
            raise self.malformed(row, f"{text!r} is no score") from None
        if not lowest <= score <= highest:
            raise self.malformed(row, f"the score {text} lies outside {lowest:g} to {highest:g}")
        return score

    def class_number(self, row: int, text: str, names: tuple[str, ...]) -> int:
        """Returns the position of a class among the names of the file's classes.

        Raises:
            ValueError: none of them.
        """
        if text not in names:
            raise self.malformed(row, f"{text!r} is none of the classes {', '.join(names)}")
        return names.index(text)

    def check_header(self, first_column: str) -> None:
        """Raises ValueError unless the first line is a header that begins with that column."""
        header = self.lines[0] if self.lines else ""
        if header.split("\t")[0].strip() != first_column:
            raise self.malformed(0, f"no header line that begins with {first_column!r}")


def read_text_file(path: Path, encoding: Encoding) -> TextFile:
    r"""Returns a file's lines; ``\n``, ``\r\n`` and ``\r`` end one, as where Python opens a file.

    Differs from SentEval where it calls ``str.splitlines`` (MR, CR, SUBJ, MPQA, STS): that also
    breaks a line at characters within a sentence, such as latin-1's ``\x85``, so that one sentence
    becomes two and counts differ from the published ones. A byte order mark is dropped.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: bytes that the encoding does not have.
    """
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: not {encoding}; convert the file to {encoding}"
        ) from None
    lines = tuple(line.removesuffix("\n") for line in io.StringIO(text, newline=None))
    return TextFile(path, lines, hashlib.sha256(content).hexdigest())
