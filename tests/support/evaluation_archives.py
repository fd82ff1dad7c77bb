"""Small archives for the tests of evaluation data."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping


def tarred(members: Mapping[str, bytes], *, mode: str = "w:gz") -> bytes:
    """Returns a tar of these members, by default in gzip."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()
