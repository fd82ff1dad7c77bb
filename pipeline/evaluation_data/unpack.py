"""Reads the wanted members of a zip or tar archive that nobody vouches for.

Nothing is written under a name that an archive gives: wanted members are returned as bytes, and the
caller names the files. An archive that tries anything (a path out of its folder, a link, a device,
a name twice, more bytes than its limits) is refused whole.
"""

from __future__ import annotations

import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

_BLOCK_BYTES = 1 << 16
_ENCRYPTED = 0x1
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,  # a method of compression that Python does not know
    UnicodeDecodeError,
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
    limits = limits or UnpackLimits()
    read = _read_zip if zipfile.is_zipfile(archive) else _read_tar
    try:
        return read(archive, wanted, limits)
    except _DAMAGE as error:
        raise UnsafeArchiveError(f"{archive.name}: not a whole archive ({error})") from error


def _read_zip(archive: Path, wanted: Sequence[str], limits: UnpackLimits) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        members = opened.infolist()
        names = _checked_names((member.filename for member in members), archive, limits)
        for member, name in zip(members, names, strict=True):
            _check_zip_member(member, name, archive, limits)
        _check_total(sum(member.file_size for member in members), archive, limits)
        files = {
            name: member for member, name in zip(members, names, strict=True) if not member.is_dir()
        }
        found = {}
        for want, name in _matches(files, wanted, archive).items():
            with opened.open(files[name]) as stream:
                found[want] = _read(stream, name, archive, limits)
        return found


def _check_zip_member(
    member: zipfile.ZipInfo, name: str, archive: Path, limits: UnpackLimits
) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)  # 0 where the archive was not made by Unix
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise UnsafeArchiveError(f"{archive.name}: {name} is a link or device")
    if member.flag_bits & _ENCRYPTED:
        raise UnsafeArchiveError(f"{archive.name}: {name} is encrypted")
    _check_size(member.file_size, name, archive, limits)
    if member.file_size > limits.max_ratio * max(member.compress_size, _BLOCK_BYTES):
        raise UnsafeArchiveError(
            f"{archive.name}: {name} unpacks to over {limits.max_ratio} times its packed size"
        )


def _read_tar(archive: Path, wanted: Sequence[str], limits: UnpackLimits) -> dict[str, bytes]:
    """Reads a tar twice, each time in one pass: first every header is checked, then files read."""
    names, total = [], 0
    with archive.open("rb") as stream:
        for member in _tar_members(stream, archive, limits):
            total += member.size
            _check_total(total, archive, limits)
            if not (member.isfile() or member.isdir()):
                raise UnsafeArchiveError(f"{archive.name}: {member.name} is a link or device")
            _check_size(member.size, member.name, archive, limits)
            names.append((member.name, member.isfile()))
            if len(names) > limits.max_members:
                break
    checked = _checked_names((name for name, _ in names), archive, limits)
    files = [name for name, (_, is_file) in zip(checked, names, strict=True) if is_file]
    wants = {name: want for want, name in _matches(files, wanted, archive).items()}
    found = {}
    with archive.open("rb") as stream, _open_tar(stream, archive, limits) as opened:
        for member in opened:
            if (want := wants.get(_normal(member.name))) and member.isfile():
                content = opened.extractfile(member)
                assert content is not None
                found[want] = _read(content, member.name, archive, limits)
    return found


def _tar_members(
    stream: IO[bytes], archive: Path, limits: UnpackLimits
) -> Iterator[tarfile.TarInfo]:
    with _open_tar(stream, archive, limits) as opened:
        yield from opened


def _open_tar(stream: IO[bytes], archive: Path, limits: UnpackLimits) -> tarfile.TarFile:
    """Opens a tar, plain or in gzip, through a reader that counts what is unpacked."""
    packed = archive.stat().st_size
    zipped = stream.read(2) == b"\x1f\x8b"
    stream.seek(0)
    source: Any = stream
    if zipped:
        most = min(limits.max_total_bytes, limits.max_ratio * max(packed, _BLOCK_BYTES))
        source = _Bounded(gzip.GzipFile(fileobj=stream), most, archive)
    return tarfile.open(fileobj=source, mode="r|")


class _Bounded(io.RawIOBase):
    """A stream that refuses to give more than so many bytes."""

    def __init__(self, stream: gzip.GzipFile, most: int, archive: Path) -> None:
        self._stream, self._left, self._most, self._archive = stream, most, most, archive

    def readable(self) -> bool:
        """Returns True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Returns the next bytes.

        Raises:
            UnsafeArchiveError: more than the limit have come.
        """
        block = self._stream.read(min(size, _BLOCK_BYTES) if size > 0 else _BLOCK_BYTES)
        self._left -= len(block)
        if self._left < 0:
            raise UnsafeArchiveError(
                f"{self._archive.name}: unpacks to more than {self._most:,} bytes"
            )
        return block


def _checked_names(names: Iterable[str], archive: Path, limits: UnpackLimits) -> list[str]:
    """Returns the members' paths without ``./``.

    Raises:
        UnsafeArchiveError: there are too many, one leaves the folder, or two are equal.
    """
    checked: list[str] = []
    seen: set[str] = set()
    for name in names:
        if len(checked) >= limits.max_members:
            raise UnsafeArchiveError(f"{archive.name}: more than {limits.max_members:,} members")
        path = PurePosixPath(name)
        drive = name[1:2] == ":"
        if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or drive:
            raise UnsafeArchiveError(f"{archive.name}: {name!r} leaves the archive's folder")
        normal = _normal(name)
        if normal in seen:
            raise UnsafeArchiveError(f"{archive.name}: {name!r} occurs twice")
        seen.add(normal)
        checked.append(normal)
    return checked


def _normal(name: str) -> str:
    return str(PurePosixPath(name))


def _matches(names: Iterable[str], wanted: Sequence[str], archive: Path) -> dict[str, str]:
    """Returns the one member that each wanted path is, or is the end of."""
    names = list(names)
    matches = {}
    for want in wanted:
        found = [name for name in names if name == want] or [
            name for name in names if name.endswith(f"/{want}")
        ]
        if len(found) != 1:
            count = "no member" if not found else f"{len(found)} members"
            raise MissingMemberError(f"{archive.name}: {count} named {want}")
        matches[want] = found[0]
    return matches


def _read(stream: IO[bytes], name: str, archive: Path, limits: UnpackLimits) -> bytes:
    """Returns a member's bytes; the size that the archive states is not trusted."""
    content = bytearray()
    while block := stream.read(_BLOCK_BYTES):
        content += block
        _check_size(len(content), name, archive, limits)
    return bytes(content)


def _check_size(num_bytes: int, name: str, archive: Path, limits: UnpackLimits) -> None:
    if num_bytes > limits.max_member_bytes:
        raise UnsafeArchiveError(
            f"{archive.name}: {name} is larger than {limits.max_member_bytes:,} bytes"
        )


def _check_total(num_bytes: int, archive: Path, limits: UnpackLimits) -> None:
    if num_bytes > limits.max_total_bytes:
        raise UnsafeArchiveError(
            f"{archive.name}: unpacks to more than {limits.max_total_bytes:,} bytes"
        )
