"""Small archives for the tests of evaluation data."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping


def zipped(members: Mapping[str, bytes]) -> bytes:
    """Returns a zip archive of these members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def tarred(members: Mapping[str, bytes], *, mode: str = "w:gz") -> bytes:
    """Returns a tar of these members, by default in gzip."""
    return tarred_members(
        [(tarfile.TarInfo(name), content) for name, content in members.items()], mode=mode
    )


def tarred_members(members: list[tuple[tarfile.TarInfo, bytes]], *, mode: str = "w:gz") -> bytes:
    """Returns a tar of headers as they are given."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()
