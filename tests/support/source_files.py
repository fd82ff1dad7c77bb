"""Files of text that tests write, and what a source reads of them."""

from __future__ import annotations

import csv
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

from treeviews.pipeline.text.documents import Document, Paragraph, documents_of
from treeviews.pipeline.text.text_sources import FilesConfig, TextFiles

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


def refusals_in(path: Path, **config: object) -> list[str]:
    documents = documents_of(TextFiles([path], FilesConfig(**config)))
    items = [item for document in documents for item in document.paragraphs]
    return [item.detail for item in items if not isinstance(item, Paragraph)]
