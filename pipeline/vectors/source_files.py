"""Files of word vectors that others wrote: which format one is, and its bytes, unpacked."""

from __future__ import annotations

import errno
import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.base.refusal import shortened

Format = Literal["text", "word2vec"]
_FASTTEXT = (793_712_314).to_bytes(4, "little")
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_CONVERSIONS = {
    "fastText's .bin": "give the .vec that lies beside it, or convert it by gensim: "
    "load_facebook_vectors(PATH)",
    "gensim's own format": "convert it by gensim: KeyedVectors.load(PATH)",
}
"""What is not read -> how to make a file of it that is."""
HEADER = re.compile(rb"\s*([0-9]{1,9})[ \t]+([0-9]{1,9})\s*")
"""Of word2vec's formats: the number of words, and of the numbers a word."""
MAX_WIDTH = 100_000
"""Numbers of a row; what anybody publishes has some thousands at most."""
_HEAD_BYTES = 1 << 20
_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A line or row that could not be taken."""

    number: int
    """From 1; of text, the line's."""
    reason: str
    """A stable snake_case key."""
    detail: str
    """In words; nothing of what stands there, as the file may be no vectors at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some rows of a file, in order."""

    words: pa.Array
    """``large_string`` [n], none empty."""
    rows: NDArray[np.float32]
    """[n, E], all finite."""
    first: int
    """The number of its first line or row, from 1."""
    num_read: int
    """Lines or rows, refused ones included."""
    refused: tuple[RefusedRow, ...] = ()


@contextmanager
def opened(path: Path, member: str = "") -> Iterator[IO[bytes]]:
    """Yields a file's bytes, unpacked by its suffix: .gz, .bz2, .xz, .zst, .zip.

    Args:
        member: of a .zip, the file in it; where it has one, none need be named.

    Raises:
        FileNotFoundError: no such file.
        ValueError: what is packed is broken, or a .zip holds several files and none was named.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such word vectors; give a folder or a file")
    if not is_packed(path):
        with path.open("rb") as stream:
            yield stream
        return
    from pipeline.text.documents import UNPACKING_ERRORS  # not on a bare GPU machine
    from pipeline.text.text_files import decompressed

    # Of a zip RuntimeError: encrypted, or packed in a way that Python does not know.
    broken: tuple[type[Exception], ...] = (*UNPACKING_ERRORS, zipfile.BadZipFile, RuntimeError)
    suffix = path.suffix.lower()
    try:
        with ExitStack() as stack:
            if suffix == ".zip":
                archive = stack.enter_context(zipfile.ZipFile(path))
                raw: Any = stack.enter_context(archive.open(_member(path, archive, member)))
            else:
                raw = decompressed(stack.enter_context(path.open("rb")), path)
            yield io.BufferedReader(raw, _BUFFER_BYTES)
    except broken as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # the disk's; what is broken has no number, or a place before its beginning
        raise ValueError(
            f"{path}: broken {suffix} file ({error}); fetch it again, or unpack it by another "
            "program"
        ) from error


def _member(path: Path, archive: zipfile.ZipFile, member: str) -> str:
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    if member in names:
        return member
    if member or len(names) != 1:
        wrong = f"has no member {member!r}" if member else "has not one file in it"
        raise ValueError(
            f"{path}: {wrong}; name one of {shortened(names)} (--member on a command line)"
        )
    return names[0]


def checked_width(path: Path, width: int) -> int:
    """Returns E as a file tells it, before anything is made of that size.

    Raises:
        ValueError: no row of word vectors is so wide.
    """
    if not 0 < width <= MAX_WIDTH:
        raise ValueError(
            f"{path}: says that a row has {width:,} numbers, and from 1 to {MAX_WIDTH:,} are read; "
            "it is damaged or holds no word vectors: fetch it again, or give another"
        )
    return width


def is_packed(path: Path) -> bool:
    """Returns whether a file's bytes are not its content as they stand."""
    return path.suffix.lower() in {".gz", ".bz2", ".xz", ".zst", ".zip"}


def format_of(path: Path, member: str = "") -> Format:
    """Returns which format a file has, by its first bytes.

    Raises:
        FileNotFoundError, ValueError: as `opened`; or of a format that other libraries convert.
    """
    with opened(path, member) as stream:
        head = stream.read(_HEAD_BYTES)
    foreign = "fastText's .bin" if head.startswith(_FASTTEXT) else ""
    foreign = "gensim's own format" if _PICKLE.match(head) else foreign
    if foreign:
        raise ValueError(
            f"{path}: {foreign}, which is not read; {_CONVERSIONS[foreign]}"
            '.save_word2vec_format("vectors.bin", binary=True)'
        )
    line, _, rest = head.partition(b"\n")
    if HEADER.fullmatch(line) and not _is_text(rest):
        return "word2vec"
    return "text"


def _is_text(content: bytes) -> bool:
    """Returns whether the beginning of a file may be lines of words and numbers."""
    lines = content.split(b"\n")[:100]
    numbers = re.compile(rb"[^ \n]+( [-+.0-9eE]+)+ ?\r?")
    return not content or any(numbers.fullmatch(line) for line in lines)
