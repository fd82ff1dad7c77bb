"""Reads the wanted members of a zip or tar archive.

Nothing is written under a name that an archive gives: wanted members are returned as bytes, and the
caller names the files.
"""

from __future__ import annotations

import errno
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    struct.error,
    RuntimeError,  # encrypted, or a method of compression that Python does not know
    ValueError,  # of numbers and names in headers
)
MAX_MEMBER_BYTES = 256 << 20
"""Far above any file of SentEval's."""


class ArchiveError(ValueError):
    """The archive is not what it should be; the message names it and the fault."""


class MissingMemberError(ArchiveError):
    """A wanted member is in the archive not at all or more than once."""


def read_members(archive: Path, wanted: Sequence[str]) -> dict[str, bytes]:
    """Returns the content of the wanted members of a zip archive or a tar, plain or compressed.

    Args:
        wanted: each the whole path of a member or the end of one, from a folder's name on:
            ``MR/rt-polarity.pos`` finds ``./data/MR/rt-polarity.pos``.

    Raises:
        MissingMemberError: a wanted member is in it not at all or more than once.
        ArchiveError: the file is no archive, is damaged, or a member is too large.
    """
    with archive.open("rb") as stream:
        read = _read_zip if stream.read(4) in _ZIP_STARTS else _read_tar
        stream.seek(0)
        try:
            return read(stream, wanted)
        except ArchiveError as error:
            raise type(error)(f"{archive.name}: {error}") from error
        except (OSError, *_DAMAGE) as error:
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise  # the disk's; gzip's and bzip2's have no number, a seek to nowhere is EINVAL
            raise ArchiveError(f"{archive.name}: not a whole archive ({error})") from error


def _read_zip(stream: IO[bytes], wanted: Sequence[str]) -> dict[str, bytes]:
    with zipfile.ZipFile(stream) as opened:
        members = [(_normal(info.filename), info) for info in opened.infolist()]
        found = _matches(members, wanted)
        contents = {}
        for want, info in found.items():
            with opened.open(info) as content:
                contents[want] = _read(content, want)
        return contents


def _read_tar(stream: IO[bytes], wanted: Sequence[str]) -> dict[str, bytes]:
    with tarfile.open(fileobj=stream) as opened:
        members = [(_normal(member.name), member) for member in opened if member.isfile()]
        contents = {}
        for want, member in _matches(members, wanted).items():
            content = opened.extractfile(member)
            assert content is not None
            contents[want] = _read(content, want)
        return contents


def _normal(name: str) -> str:
    return str(PurePosixPath(name))


def _matches(members: Sequence[tuple[str, Any]], wanted: Sequence[str]) -> Mapping[str, Any]:
    """Returns the one member that each wanted path is, or is the end of."""
    matches = {}
    for want in wanted:
        exact = [member for name, member in members if name == want]
        found = exact or [member for name, member in members if name.endswith(f"/{want}")]
        if len(found) != 1:
            count = "no member" if not found else f"{len(found)} members"
            raise MissingMemberError(f"{count} named {want}")
        matches[want] = found[0]
    return matches


def _read(stream: IO[bytes], name: str) -> bytes:
    """Returns a member's bytes; the size that the archive states is not trusted."""
    content = stream.read(MAX_MEMBER_BYTES + 1)
    if len(content) > MAX_MEMBER_BYTES:
        raise ArchiveError(f"{name} is larger than {MAX_MEMBER_BYTES:,} bytes")
    return content
