"""Reads the wanted members of a tar archive, plain or compressed.

Nothing is written under a name that an archive gives: wanted members are returned as bytes, and the
caller names the files.
"""

from __future__ import annotations

import errno
import lzma
import tarfile
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath

_DAMAGE = (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, ValueError)
MAX_MEMBER_BYTES = 256 << 20
"""Far above any file of SentEval's."""


class ArchiveError(ValueError):
    """The archive is not what it should be; the message names it and the fault."""


class MissingMemberError(ArchiveError):
    """A wanted member is in the archive not at all or more than once."""


def read_members(archive: Path, wanted: Sequence[str]) -> dict[str, bytes]:
    """Returns the content of the wanted members of an archive.

    Args:
        wanted: each the whole path of a member or the end of one, from a folder's name on:
            ``MR/rt-polarity.pos`` finds ``./data/MR/rt-polarity.pos``.

    Raises:
        MissingMemberError: a wanted member is in it not at all or more than once.
        ArchiveError: the file is no archive, is damaged, or a member is too large.
    """
    try:
        with tarfile.open(archive) as opened:
            members = {str(PurePosixPath(one.name)): one for one in opened if one.isfile()}
            names = {want: _matching(members, want) for want in wanted}
            return {want: _content(opened, members[name]) for want, name in names.items()}
    except ArchiveError as error:
        raise type(error)(f"{archive.name}: {error}") from error
    except (OSError, *_DAMAGE) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # the disk's; gzip's and bzip2's have no number, a seek to nowhere is EINVAL
        raise ArchiveError(f"{archive.name}: not a whole archive ({error})") from error


def _matching(names: Collection[str], want: str) -> str:
    """Returns the one name that a wanted path is, or is the end of."""
    found = [want] if want in names else [name for name in names if name.endswith(f"/{want}")]
    if len(found) != 1:
        count = "no member" if not found else f"{len(found)} members"
        raise MissingMemberError(f"{count} named {want}")
    return found[0]


def _content(opened: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = opened.extractfile(member)
    assert stream is not None
    if member.size > MAX_MEMBER_BYTES:
        raise ArchiveError(f"{member.name} is larger than {MAX_MEMBER_BYTES:,} bytes")
    return stream.read()
