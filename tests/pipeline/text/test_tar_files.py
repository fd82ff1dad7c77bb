"""Archives: what is left out of them, and which are refused as damaged."""

from __future__ import annotations

import gzip
import json
import tarfile
from itertools import count
from pathlib import Path

import pytest

from pipeline.text.documents import documents_of
from pipeline.text.plan import Plan, plan_of
from pipeline.text.text_sources import TextFiles
from tests.support.source_files import tar_of, told, written


def other(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.type, header.linkname = kind, link
    return header


def test_members_that_are_no_text_are_left_out_and_counted(tmp_path: Path) -> None:
    others = (
        other("web", tarfile.DIRTYPE),
        other("web/passwd.txt", tarfile.SYMTYPE, "/etc/passwd"),
        other("web/hard.txt", tarfile.LNKTYPE, "web/0.txt"),
        other("web/device.txt", tarfile.CHRTYPE),
        other("web/pipe.txt", tarfile.FIFOTYPE),
    )
    members = [
        ("/etc/a.txt", b"No."),
        ("../a.txt", b"No."),
        ("web/tagged.possf2", b"No_DT"),
        ("web/.hidden.txt", b"No."),
        ("./web/a.txt", b"Yes."),
        ("web/a.txt", b"Again."),
    ]
    path = written(tmp_path, "a.tgz", gzip.compress(tar_of(members, *others)))
    source = TextFiles([path])
    assert dict(told(documents_of(source))) == {"a.tgz/web/a.txt": ["Yes."]}

    plan = plan_of(source)

    counted = {
        "hidden": 1,
        "name that leads out of an archive": 2,
        "no regular file in an archive": 4,
        "not named like text (.possf2)": 1,
        "second of its name in an archive": 1,
    }
    assert plan.left_out == counted
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))).left_out == counted


def member(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, data: bytes = b"") -> bytes:
    """A header, whose size may be a lie, and what follows it."""
    header = tarfile.TarInfo(name)
    header.size, header.type = size, kind
    return header.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % 512)


def pax_size(size: int) -> bytes:
    """A record that gives the next member another size."""
    record = f"size={size}\n"
    length = len(record) + 3
    data = f"{length} {record}".encode()
    assert len(data) == length
    return member("pax", length, tarfile.XHDTYPE, data)


GOOD = member("a.txt", 5, data=b"Good.")


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz"])
@pytest.mark.parametrize(
    "lies",
    [
        pax_size(-1536) + member("b.txt"),
        pax_size(-1) + member("b.txt"),
        member("b.txt", -1),
        member("b.txt", -1024),
    ],
    ids=["back", "pax -1", "-1", "-1024"],
)
def test_headers_that_lead_back_are_refused(
    lies: bytes, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_next, reads = tarfile.TarFile.next, count()

    def counted(archive: tarfile.TarFile) -> tarfile.TarInfo | None:
        assert next(reads) < 100, "the archive is read without end"
        return read_next(archive)

    monkeypatch.setattr(tarfile.TarFile, "next", counted)
    content = GOOD + lies + GOOD.replace(b"a.txt", b"z.txt") + bytes(1024)
    path = written(tmp_path, f"a{suffix}", content if suffix == ".tar" else gzip.compress(content))
    (stream,) = TextFiles([path]).streams()
    refused = (path.name, [f"!damaged_file@{path.name}"])
    assert told(stream.documents()) == [(f"{path.name}/a.txt", ["Good."]), refused]
    assert [*stream.survey()][-1].offset == 5
