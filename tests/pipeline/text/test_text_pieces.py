"""Texts of every format as a whole and in pieces; damaged, and changed since described."""

from __future__ import annotations

import bz2
import gzip
import io
import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.support.text_in_files import (
    Read,
    arrow_of,
    csv_of,
    documents_of,
    parquet_of,
    read,
    rows_of,
    table_of,
    tar_of,
    told,
    written,
)
from treeviews.pipeline.text import documents
from treeviews.pipeline.text.documents import START, ChangedTextError
from treeviews.pipeline.text.plan import Plan, plan_of
from treeviews.pipeline.text.text_files import FilesConfig
from treeviews.pipeline.text.text_sources import PythonDocs, TextFiles, reopen

TEXTS = [
    f"Story {number} begins.\n\nIt has “{number * 'word '}” in it,\nand ends.\n"
    for number in range(1, 40)
]


@pytest.fixture
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "STEP_BYTES", 60)


LZ4 = pa.ipc.IpcWriteOptions(compression="lz4")
JSON_LINES = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS).encode()
MEMBERS = [(f"web/{number}.txt", text.encode()) for number, text in enumerate(TEXTS)]
LONG = [
    ("a.txt", "\n".join(TEXTS).encode()),
    ("empty.txt", b""),
    ("b.txt", "\n".join(TEXTS[:3]).encode()),
]
FORMATS = {
    "a.txt": "\n".join(TEXTS).encode(),
    "a.txt.gz": gzip.compress("\n".join(TEXTS).encode()),
    "a.jsonl": JSON_LINES,
    "a.jsonl.zst": zstandard.ZstdCompressor().compress(JSON_LINES),
    "a.csv": csv_of(TEXTS),
    "a.csv.bz2": bz2.compress(csv_of(TEXTS)),
    "a.tsv": rows_of(
        (f'"{text.split()[0]}" {number}, "said' for number, text in enumerate(TEXTS * 3)), "\t"
    ),
    "a.parquet": parquet_of(table_of(TEXTS), row_group_size=10),
    "bytes.parquet": parquet_of(table_of(map(str.encode, TEXTS), pa.binary())),
    "a.arrow": arrow_of(table_of(TEXTS), pa.ipc.new_file),
    "a.feather": arrow_of(table_of(TEXTS), pa.ipc.new_file, options=LZ4),
    "a.arrows": arrow_of(table_of(TEXTS, pa.string_view()), pa.ipc.new_stream),
    "a.tar": tar_of(MEMBERS),
    "a.tar.gz": gzip.compress(tar_of(MEMBERS)),
    "a.tgz": gzip.compress(tar_of(LONG)),
    "long.tar": tar_of(LONG),
}
OTHER_TEXTS = {"a.txt", "a.txt.gz", "a.tgz", "long.tar", "a.tsv"}
WHOLE_ANYWHERE = {"a.txt", "a.jsonl", "a.tsv"}
"""What may be cut and look whole, or has refusals of its own."""


def joined(pieces: Iterable[Read]) -> Read:
    """Documents, the pieces of one put together."""
    found: Read = []
    for document_id, items in (document for piece in pieces for document in piece):
        if found and found[-1][0] == document_id:
            found[-1][1].extend(items)
        else:
            found.append((document_id, [*items]))
    return found


def pieces_of(source: TextFiles) -> list[Read]:
    """The pieces of a source's one stream, each read by itself."""
    places = [START, *list(source.streams()[0].survey())[:-1], None]
    return [told(source.streams()[0].documents(*piece)) for piece in pairwise(places)]


@pytest.mark.usefixtures("short_steps")
@pytest.mark.parametrize("paragraphs", ["blank-line", "line"])
@pytest.mark.parametrize("name", FORMATS)
def test_pieces_give_what_the_whole_gives(name: str, paragraphs: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, FORMATS[name])
    source = TextFiles([path], FilesConfig(paragraphs=paragraphs))
    (stream,) = source.streams()
    whole = told(stream.documents())
    places = [START, *stream.survey()]
    assert len(places) > 10
    assert all(later.offset - one.offset >= 60 for one, later in pairwise(places[:-1]))
    in_order = [told(stream.documents(*piece)) for piece in pairwise([*places[:-1], None])]

    assert joined(in_order) == whole
    assert pieces_of(source) == in_order


@pytest.mark.usefixtures("short_steps")
@pytest.mark.parametrize("is_archive", [False, True])
def test_a_text_whose_first_piece_is_blank_is_not_empty(is_archive: bool, tmp_path: Path) -> None:
    text = b"\n" * 100 + b"Text."
    content = tar_of([("a.txt", text), ("b.txt", b"\n" * 9)]) if is_archive else text
    source = TextFiles([written(tmp_path, "a.tar" if is_archive else "a.txt", content)])
    pieces = pieces_of(source)
    assert len(pieces) == 2
    items = [item for piece in pieces for _, items in piece for item in items]
    assert items == ["Text.", *["!empty_file@a.tar/b.txt"] * is_archive]


@pytest.mark.usefixtures("short_steps")
@pytest.mark.parametrize("name", sorted(set(FORMATS) - WHOLE_ANYWHERE))
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_truncated_file_ends_in_a_refusal(name: str, share: float, tmp_path: Path) -> None:
    content = FORMATS[name].rstrip(b"\0")  # a tar's end is filled up
    path = written(tmp_path, name, content[: int(share * len(content))])
    source = TextFiles([path])
    whole = told(documents_of(source))
    assert len(whole) <= 40
    assert whole[-1][1][-1].startswith("!")
    refused = [item for _, items in whole for item in items if item.startswith("!")]
    assert len([item for item in refused if not item.endswith("/empty.txt")]) == 1
    if share:  # of an empty file, a piece does not know that it is all
        assert joined(pieces_of(source)) == whole


@pytest.mark.usefixtures("short_steps")
@pytest.mark.parametrize("codec", ["utf-8", "utf-16"])
def test_lines_end_as_python_reads_them(codec: str, tmp_path: Path) -> None:
    text = "One line.\rTwo line.\r\rThree.\r" + "Four.\r\nFive.\n\r\nSix.\r\r\nw\r\n\r\n" * 9
    text += f"\r{'w ' * 400}\r\n{'w ' * 199}\rSeven.\r\n\r\nEnd.\r"
    path = written(tmp_path, "a.txt", text.encode(codec))
    source = TextFiles([path], FilesConfig(encoding=codec, max_paragraph_characters=99))
    (stream,) = source.streams()
    items = [item for document in stream.documents() for item in document.paragraphs]
    assert [getattr(item, "text", item.position) for item in items[:2]] == [
        "One line. Two line.",
        "Three. Four. Five.",
    ]
    assert (len(items), items[-1].text) == (32, "End.")
    pieces = pieces_of(source)
    assert len(pieces) > 2
    assert joined(pieces) == told(stream.documents())


@pytest.mark.parametrize("name", sorted(set(FORMATS) - OTHER_TEXTS))
def test_all_formats_hold_the_same_texts(name: str, tmp_path: Path) -> None:
    documents = read(written(tmp_path, name, FORMATS[name]))

    expected = [
        [f"Story {n} begins.", f"It has “{n * 'word '}” in it, and ends."] for n in range(1, 40)
    ]
    assert list(documents.values()) == expected


def test_a_damaged_group_of_rows_costs_its_rows(tmp_path: Path) -> None:
    content = parquet_of(table_of(TEXTS), row_group_size=10, compression="none")
    column = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(1).column(1)
    begin = column.dictionary_page_offset or column.data_page_offset
    damage = content[:begin] + b"\xff" * column.total_compressed_size
    path = written(tmp_path, "a.parquet", damage + content[len(damage) :])
    whole = read(path)
    assert [*whole] == [f"a.parquet:{row}" for row in (*range(1, 12), *range(21, 40))]
    refused = [item for items in whole.values() for item in items if item.startswith("!")]
    assert refused == ["!damaged_file@a.parquet:11"]


@pytest.mark.parametrize("how", ["appended", "removed", "exchanged"])
@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.parquet", "a.tar.gz"])
def test_a_file_that_changed_since_it_was_described_is_named(
    name: str, how: str, tmp_path: Path
) -> None:
    path = written(tmp_path, name, FORMATS[name])
    plan = Plan.from_dict(json.loads(json.dumps(plan_of(TextFiles([path])).to_dict())))
    if how == "removed":
        path.unlink()
    else:
        written(tmp_path, name, FORMATS[name][: None if how == "appended" else -20] + bytes(20))
    with pytest.raises(ChangedTextError, match=rf"{name}: gone, or changed since .*sha256"):
        told(plan.documents(0))


def test_the_default_text_is_the_same_whatever_python_runs() -> None:
    documents = [(d.document_id, list(d.paragraphs)) for d in PythonDocs().documents()]
    assert len(documents) == 464
    assert documents[0][0] == "topic/specialnames"
    assert documents[-1][0] == "module/zoneinfo._zoneinfo"
    paragraphs = [paragraph for _, each in documents for paragraph in each]
    assert len(paragraphs) == len({paragraph.text for paragraph in paragraphs}) == 9943
    assert PythonDocs().describe()["python"] == "CPython 3.11.7"


def test_parts_of_the_default_text_are_read_in_any_order() -> None:
    whole = [d.document_id for d in PythonDocs().documents()]
    values = plan_of(PythonDocs()).to_dict()
    assert len(values["ends"]) == 2
    parts = [[d.document_id for d in Plan.from_dict(values).documents(n)] for n in (1, 0)]
    assert parts[1] + parts[0] == whole
    assert reopen(values["source"]).describe() == PythonDocs().describe()
