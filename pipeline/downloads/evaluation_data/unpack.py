"""Reads the wanted members of a zip or tar archive that nobody vouches for.

Nothing is written under a name that an archive gives: wanted members are returned as bytes, and the
caller names the files. An archive that tries anything (a path out of its folder, a link, a device,
a name twice, more bytes than its limits) is refused whole.
"""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

_BLOCK_BYTES = 1 << 16
_ENCRYPTED = 0x1
_MAX_HEADER_BYTES = 1 << 20
"""Of one record of a tar that holds a long name or other fields."""
_MAX_ENTRY_BYTES = 1 << 10
"""Of one member in a zip's directory, on average."""
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
_ZIP_END = b"PK\x05\x06"
_ZIP_END_BYTES = 22
_ZIP64_LOCATOR = b"PK\x06\x07"
_ZIP64_LOCATOR_BYTES = 20
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    struct.error,
    NotImplementedError,  # a method of compression that Python does not know
    ValueError,  # of numbers and names in headers
)


class UnsafeArchiveError(ValueError):
    """The archive is not what it should be; the message names it, the member and the fault."""


class MissingMemberError(UnsafeArchiveError):
    """A wanted member is in the archive not at all or more than once."""


@dataclass(frozen=True, slots=True)
class UnpackLimits:
    """How much an archive may hold; far above any set of SentEval's."""

    max_members: int = 10_000
    max_member_bytes: int = 256 << 20
    max_total_bytes: int = 1 << 30
    """Of all members together, wanted or not."""
    max_ratio: int = 200
    """Bytes unpacked to bytes packed; plain text stays below 20."""


def read_members(
    archive: Path, wanted: Sequence[str], limits: UnpackLimits | None = None
) -> dict[str, bytes]:
    """Returns the content of the wanted members of a zip archive or a tar, plain or compressed.

    Args:
        wanted: each the whole path of a member or the end of one, from a folder's name on:
            ``MR/rt-polarity.pos`` finds ``./data/MR/rt-polarity.pos``.

    Raises:
        MissingMemberError: a wanted member is in it not at all or more than once.
        UnsafeArchiveError: the file is no archive, is damaged or unsafe, or exceeds a limit.
    """
    with archive.open("rb") as stream:
        read = _read_zip if stream.read(4) in _ZIP_STARTS else _read_tar
        stream.seek(0)
        try:
            return read(stream, wanted, limits or UnpackLimits())
        except UnsafeArchiveError as error:
            raise type(error)(f"{archive.name}: {error}") from error
        except (OSError, *_DAMAGE) as error:
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise  # the disk's; gzip's and bzip2's have no number, a seek to nowhere is EINVAL
            raise UnsafeArchiveError(f"{archive.name}: not a whole archive ({error})") from error


def _read_zip(stream: IO[bytes], wanted: Sequence[str], limits: UnpackLimits) -> dict[str, bytes]:
    _check_zip_directory(stream, limits)
    with zipfile.ZipFile(stream) as opened:
        members = opened.infolist()
        for member in members:
            _check_zip_member(member, limits)
        files = _checked_files(((m.filename, m.file_size, not m.is_dir()) for m in members), limits)
        by_name = {_normal(member.filename): member for member in members}
        found = {}
        for want, name in _matches(files, wanted).items():
            with opened.open(by_name[name]) as content:
                found[want] = _read(content, name, limits)
        return found


def _check_zip_directory(stream: IO[bytes], limits: UnpackLimits) -> None:
    """Refuses a directory too long to be read; ``zipfile`` reads it whole before any member.

    Raises:
        UnsafeArchiveError: it is longer than so many members take, or as only Zip64 allows.
    """
    stream.seek(max(0, stream.seek(0, io.SEEK_END) - (1 << 16) - _ZIP_END_BYTES))
    tail = stream.read()
    end = len(tail) - _ZIP_END_BYTES
    if not tail.startswith(_ZIP_END, max(end, 0)):
        end = tail.rfind(_ZIP_END)  # a comment of up to 64 KiB stands behind it
    num_bytes = int.from_bytes(tail[end + 12 : end + 16], "little") if end >= 0 else 0
    is_zip64 = tail.startswith(_ZIP64_LOCATOR, max(end - _ZIP64_LOCATOR_BYTES, 0))
    if is_zip64 or num_bytes > limits.max_members * _MAX_ENTRY_BYTES:
        raise UnsafeArchiveError(f"its directory is too long for {limits.max_members:,} members")


def _check_zip_member(member: zipfile.ZipInfo, limits: UnpackLimits) -> None:
    name = member.filename
    kind = stat.S_IFMT(member.external_attr >> 16)  # 0 where the archive was not made by Unix
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise UnsafeArchiveError(f"{name} is a link or device")
    if member.flag_bits & _ENCRYPTED:
        raise UnsafeArchiveError(f"{name} is encrypted")
    if member.file_size > limits.max_ratio * max(member.compress_size, _BLOCK_BYTES):
        raise UnsafeArchiveError(f"{name} unpacks to over {limits.max_ratio} times its packed size")


def _read_tar(stream: IO[bytes], wanted: Sequence[str], limits: UnpackLimits) -> dict[str, bytes]:
    """Reads a tar twice, each time in one pass: first every header is checked, then files read."""
    source = _unpacked(stream, limits)
    with _opened_tar(source) as opened:
        files = _checked_files(_tar_members(opened), limits)
    while source.read(_BLOCK_BYTES):  # what follows the tar, so that gzip's sum is checked
        pass
    matches = _matches(files, wanted)
    meant = set(matches.values())
    contents: dict[str, bytes] = {}
    with _opened_tar(_unpacked(stream, limits)) as opened:
        for member in opened:
            if member.isfile() and (name := _normal(member.name)) in meant:
                content = opened.extractfile(member)
                assert content is not None
                contents[name] = _read(content, name, limits)
    return {want: contents[name] for want, name in matches.items()}


def _tar_members(opened: tarfile.TarFile) -> Iterator[tuple[str, int, bool]]:
    """Yields path, bytes and whether it is a file, of each file and folder.

    Raises:
        UnsafeArchiveError: a member is neither.
    """
    for member in opened:
        if not (member.isfile() or member.isdir()):
            raise UnsafeArchiveError(f"{member.name} is a link or device")
        yield member.name, member.size, member.isfile()


def _opened_tar(source: Any) -> tarfile.TarFile:
    return tarfile.open(fileobj=source, mode="r|", tarinfo=_ShortHeader)


def _unpacked(stream: IO[bytes], limits: UnpackLimits) -> Any:
    """Returns the tar's bytes from its start, of one in gzip through a reader that counts them."""
    stream.seek(0)
    is_gzip = stream.read(2) == b"\x1f\x8b"
    packed = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    if not is_gzip:
        return stream
    most = min(limits.max_total_bytes, limits.max_ratio * max(packed, _BLOCK_BYTES))
    return _Bounded(gzip.GzipFile(fileobj=stream), most)


class _ShortHeader(tarfile.TarInfo):
    """A member's header; ``tarfile`` keeps the records before it in memory, so they are short."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _ShortHeader:
        """Returns the header in a block of 512 bytes.

        Raises:
            tarfile.TarError: the block is no header, or one of a record that is too long.
        """
        header = super().frombuf(buf, encoding, errors)
        if header.type in _RECORDS and header.size > _MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a name or record of {header.size:,} bytes")
        return header


_RECORDS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)


class _Bounded:
    """A stream that refuses to give more than so many bytes."""

    def __init__(self, stream: gzip.GzipFile, most: int) -> None:
        self._stream, self._left, self._most = stream, most, most

    def read(self, size: int = -1) -> bytes:
        """Returns the next bytes.

        Raises:
            UnsafeArchiveError: more than the limit have come.
        """
        block = self._stream.read(min(size, _BLOCK_BYTES) if size > 0 else _BLOCK_BYTES)
        self._left -= len(block)
        if self._left < 0:
            raise UnsafeArchiveError(f"unpacks to more than {self._most:,} bytes")
        return block


def _checked_files(members: Iterable[tuple[str, int, bool]], limits: UnpackLimits) -> list[str]:
    """Returns the files' paths without ``./``.

    Args:
        members: path, bytes and whether it is a file, of files and folders.

    Raises:
        UnsafeArchiveError: there are too many or too large ones, one leaves the folder, or two are
            equal.
    """
    files: list[str] = []
    seen: set[str] = set()
    total = 0
    for name, num_bytes, is_file in members:
        if len(seen) >= limits.max_members:
            raise UnsafeArchiveError(f"more than {limits.max_members:,} members")
        path = PurePosixPath(name)
        drive = name[1:2] == ":"
        if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or drive:
            raise UnsafeArchiveError(f"{name!r} leaves the archive's folder")
        if _normal(name) in seen:
            raise UnsafeArchiveError(f"{name!r} occurs twice")
        seen.add(_normal(name))
        _check_size(num_bytes, name, limits)
        total += num_bytes
        if total > limits.max_total_bytes:
            raise UnsafeArchiveError(f"unpacks to more than {limits.max_total_bytes:,} bytes")
        if is_file:
            files.append(_normal(name))
    return files


def _normal(name: str) -> str:
    return str(PurePosixPath(name))


def _matches(names: Sequence[str], wanted: Sequence[str]) -> dict[str, str]:
    """Returns the one member that each wanted path is, or is the end of."""
    matches = {}
    for want in wanted:
        ends = [name for name in names if name == want or name.endswith(f"/{want}")]
        found = [want] if want in names else ends
        if len(found) != 1:
            count = "no member" if not found else f"{len(found)} members"
            raise MissingMemberError(f"{count} named {want}")
        matches[want] = found[0]
    return matches


def _read(stream: IO[bytes], name: str, limits: UnpackLimits) -> bytes:
    """Returns a member's bytes; the size that the archive states is not trusted."""
    content = bytearray()
    while block := stream.read(_BLOCK_BYTES):
        content += block
        _check_size(len(content), name, limits)
    return bytes(content)


def _check_size(num_bytes: int, name: str, limits: UnpackLimits) -> None:
    if num_bytes > limits.max_member_bytes:
        raise UnsafeArchiveError(f"{name} is larger than {limits.max_member_bytes:,} bytes")
