"""Every kind of file: what its pieces give is what it gives as a whole, wherever it is cut."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import tarfile
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from pipeline.sources import rows, streams, table_file, tar_file, text_file
from pipeline.sources.files import FilesConfig, TextFiles
from pipeline.sources.opened_file import Announced
from pipeline.sources.paragraphs import ChangedTextError, Document, Paragraph
from pipeline.sources.plan import Plan, plan_of
from pipeline.sources.streams import START, documents_of

TEXTS = [
    f"Story {number} begins.\n\nIt has “{number * 'word '}” in it,\nand ends.\n"
    for number in range(1, 40)
]


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (streams, table_file, tar_file, text_file):
        monkeypatch.setattr(module, "STEP_BYTES", 60)


def tar_of(members: Iterable[tuple[str, bytes]], *others: tarfile.TarInfo) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for other in others:
            archive.addfile(other)
        for name, content in members:
            header = tarfile.TarInfo(name)
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))
    return written.getvalue()


def csv_of(texts: Iterable[str], delimiter: str = ",") -> bytes:
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter)
    writer.writerow(["id", "text"])
    writer.writerows(enumerate(texts))
    return written.getvalue().encode()


def parquet_of(table: pa.Table, **options: object) -> bytes:
    written = io.BytesIO()
    pq.write_table(table, written, **options)
    return written.getvalue()


def arrow_of(table: pa.Table, open_writer: Callable, **options: object) -> bytes:
    written = io.BytesIO()
    with open_writer(written, table.schema, **options) as writer:
        writer.write_table(table, max_chunksize=10)
    return written.getvalue()


def table_of(texts: Iterable[str | bytes | None], kind: pa.DataType | None = None) -> pa.Table:
    texts = list(texts)
    return pa.table({"id": list(range(len(texts))), "text": pa.array(texts, kind or pa.string())})


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
    "a.tsv": csv_of(TEXTS, "\t"),
    "a.parquet": parquet_of(table_of(TEXTS), row_group_size=10),
    "one-group.parquet": parquet_of(table_of(TEXTS)),
    "large.parquet": parquet_of(table_of(TEXTS, pa.large_string()), row_group_size=1),
    "bytes.parquet": parquet_of(table_of(map(str.encode, TEXTS), pa.binary())),
    "a.arrow": arrow_of(table_of(TEXTS), pa.ipc.new_file),
    "a.feather": arrow_of(table_of(TEXTS), pa.ipc.new_file, options=LZ4),
    "a.arrows": arrow_of(table_of(TEXTS, pa.string_view()), pa.ipc.new_stream),
    "a.tar": tar_of(MEMBERS),
    "a.tar.gz": gzip.compress(tar_of(MEMBERS)),
    "a.tgz": gzip.compress(tar_of(LONG)),
    "long.tar": tar_of(LONG),
}


Read = list[tuple[str, list[str]]]


def told(documents: Iterable[Document]) -> Read:
    """Names and items of documents, in order."""
    return [
        (
            document.document_id,
            [
                item.text if isinstance(item, Paragraph) else f"!{item.reason}@{item.position}"
                for item in document.paragraphs
            ],
        )
        for document in documents
    ]


def joined(pieces: Iterable[Read]) -> Read:
    """Documents, the pieces of one put together."""
    found: Read = []
    for document_id, items in (document for piece in pieces for document in piece):
        if found and found[-1][0] == document_id:
            found[-1][1].extend(items)
        else:
            found.append((document_id, [*items]))
    return found


def read(path: Path, **config: object) -> dict[str, list[str]]:
    return dict(told(documents_of(TextFiles([path], FilesConfig(**config)))))


def written(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize("paragraphs", ["blank-line", "line"])
@pytest.mark.parametrize("name", FORMATS)
def test_pieces_give_what_the_whole_gives(name: str, paragraphs: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, FORMATS[name])
    source = TextFiles([path], FilesConfig(paragraphs=paragraphs))
    (stream,) = source.streams()
    whole = told(stream.documents())
    places = [START, *stream.survey()]
    assert len(places) > 10
    assert all(later.offset - one.offset >= 60 for one, later in zip(places, places[1:-1]))
    ends = [*places[1:-1], None]

    in_order = [told(stream.documents(*piece)) for piece in zip(places, ends)]
    alone = [
        told(source.streams()[0].documents(*piece)) for piece in reversed([*zip(places, ends)])
    ]

    assert joined(in_order) == whole
    assert alone[::-1] == in_order
