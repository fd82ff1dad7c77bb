"""Files of text made by hand, and what a source reads in them."""

from __future__ import annotations

import csv
import io
import tarfile
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from treeviews.pipeline.text.documents import Document, Paragraph
from treeviews.pipeline.text.text_files import FilesConfig
from treeviews.pipeline.text.text_sources import TextFiles

Read = list[tuple[str, list[str]]]


def written(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


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


def csv_of(texts: Iterable[str]) -> bytes:
    written = io.StringIO(newline="")
    writer = csv.writer(written)
    writer.writerow(["id", "text"])
    writer.writerows(enumerate(texts))
    return written.getvalue().encode()


def rows_of(texts: Iterable[str], delimiter: str) -> bytes:
    """One line a text, as it is."""
    rows = (f"{number}{delimiter}{text}\n" for number, text in enumerate(texts))
    return f"id{delimiter}text\n{''.join(rows)}".encode()


def documents_of(source: TextFiles) -> Iterator[Document]:
    """All documents of a source, in order."""
    return chain.from_iterable(stream.documents() for stream in source.streams())


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


def read(path: Path | list[Path | str], **config: object) -> dict[str, list[str]]:
    paths = path if isinstance(path, list) else [path]
    return dict(told(documents_of(TextFiles(paths, FilesConfig(**config)))))


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
