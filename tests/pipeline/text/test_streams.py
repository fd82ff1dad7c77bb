"""Every kind of file: what its pieces give is what it gives as a whole, wherever it is cut."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import random
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from pipeline.text import documents, table_streams, text_files, text_streams
from pipeline.text.documents import START, ChangedTextError, documents_of
from pipeline.text.plan import Plan, plan_of
from pipeline.text.text_files import FilesConfig, FileVersion, decompressed
from pipeline.text.text_sources import TextFiles
from tests.support.source_files import (
    Read,
    csv_of,
    read,
    rows_of,
    tar_of,
    told,
    written,
)

TEXTS = [
    f"Story {number} begins.\n\nIt has “{number * 'word '}” in it,\nand ends.\n"
    for number in range(1, 40)
]


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (documents, table_streams, text_streams):
        monkeypatch.setattr(module, "STEP_BYTES", 60)


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
    "a.tsv": rows_of(
        (f'"{text.split()[0]}" {number}, "said' for number, text in enumerate(TEXTS * 3)), "\t"
    ),
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
    pieces = [*pairwise([*places[:-1], None])]

    in_order = [told(stream.documents(*piece)) for piece in pieces]
    alone = [told(source.streams()[0].documents(*piece)) for piece in reversed(pieces)]

    assert joined(in_order) == whole
    assert alone[::-1] == in_order


@pytest.mark.parametrize("name", FORMATS)
def test_a_plan_that_ends_early_has_the_first_parts_of_the_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.text.plan._target", lambda number: 100 + 20 * number)
    for number in range(3):
        written(tmp_path, f"{number}-{name}", FORMATS[name])
    source = TextFiles([tmp_path])
    whole = plan_of(source)
    assert whole.is_whole and len(whole.parts) > 15
    sizes = [*accumulate(part.num_bytes for part in whole.parts)]
    for count, size in enumerate(sizes, start=1):
        for wanted in (size - 1, size):
            early = plan_of(source, wanted)
            assert (early.parts, early.is_whole) == (whole.parts[:count], False)
    beyond = plan_of(source, sizes[-1] + 1)
    assert (beyond.parts, beyond.is_whole) == (whole.parts, True)


@pytest.mark.parametrize("name", ["a.txt.gz", "a.jsonl.zst", "a.csv.bz2", "a.tar.gz", "long.tgz"])
def test_the_first_places_are_found_by_reading_the_beginning(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{random.Random(number).randbytes(5_000).hex()}\n\n" for number in range(1_000)]
    text, rows = "".join(texts).encode(), [json.dumps({"text": text}) for text in texts]
    content = {
        "a.txt.gz": lambda: gzip.compress(text, 1),
        "a.jsonl.zst": lambda: zstandard.compress("\n".join(rows).encode()),
        "a.csv.bz2": lambda: bz2.compress(csv_of(texts), 1),
        "a.tar.gz": lambda: gzip.compress(
            tar_of((f"{n}.txt", each.encode()) for n, each in enumerate(texts)), 1
        ),
        "long.tgz": lambda: gzip.compress(tar_of([("a.txt", text)]), 1),
    }[name]()
    (stream,) = TextFiles([written(tmp_path, name, content)]).streams()
    files: list[BinaryIO] = []

    def kept(file: BinaryIO, path: Path) -> io.BufferedReader:
        files.append(file)
        return decompressed(file, path)

    monkeypatch.setattr(text_files, "decompressed", kept)
    places = stream.survey()
    next(places)
    (file,) = files
    assert file.tell() < 0.4 * len(content)


@pytest.mark.parametrize("name", sorted(set(FORMATS) - OTHER_TEXTS))
def test_all_formats_hold_the_same_texts(name: str, tmp_path: Path) -> None:
    documents = read(written(tmp_path, name, FORMATS[name]))

    expected = [
        [f"Story {n} begins.", f"It has “{n * 'word '}” in it, and ends."] for n in range(1, 40)
    ]
    assert list(documents.values()) == expected


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            table_of(["Good.", None, " ", "Also good."]),
            [["Good."], ["!missing_text@{}:2"], ["!empty_text@{}:3"], ["Also good."]],
        ),
        (table_of([b"Good.", b"Caf\xe9"], pa.binary()), [["Good."], ["!undecodable@{}:2"]]),
        (table_of(["Twice.", "Twice."], pa.dictionary(pa.int32(), pa.string())), [["Twice."]] * 2),
        (pa.table({"text": [1, 2]}), [["!missing_text@{}"]]),
        (pa.table({"body": ["Good."]}), [["!missing_text@{}"]]),
        (table_of([]), [["!empty_file@{}"]]),
    ],
)
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_rows_of_tables_without_text_are_refused(
    name: str, table: pa.Table, expected: list[list[str]], tmp_path: Path
) -> None:
    is_parquet = name.endswith("parquet")
    content = parquet_of(table) if is_parquet else arrow_of(table, pa.ipc.new_file)
    found = read(written(tmp_path, name, content))
    assert list(found.values()) == [[item.format(name) for item in each] for each in expected]


def test_a_file_without_the_column_says_which_there_are(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b"id,body\n1,Good.\n")
    (document,) = documents_of(TextFiles([path]))
    (refusal,) = document.paragraphs
    assert refusal.reason == "missing_text" and "set text_field" in refusal.detail
    assert refusal.excerpt == "id, body"
    assert read(path, text_field="body") == {"a.csv:1": ["Good."]}


@pytest.mark.parametrize("name", sorted(set(FORMATS) - WHOLE_ANYWHERE))
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
def test_a_truncated_file_ends_in_a_refusal(name: str, share: float, tmp_path: Path) -> None:
    content = FORMATS[name].rstrip(b"\0")  # a tar's end is filled up
    path = written(tmp_path, name, content[: int(share * len(content))])
    source = TextFiles([path])
    (stream,) = source.streams()

    whole = told(stream.documents())
    places = [START, *list(stream.survey())[:-1], None]
    pieces = [told(stream.documents(*piece)) for piece in pairwise(places)]

    assert len(whole) <= 40
    assert whole[-1][1][-1].startswith("!")
    refused = [item for _, items in whole for item in items if item.startswith("!")]
    assert len([item for item in refused if not item.endswith("/empty.txt")]) == 1
    if share:  # of an empty file, a piece does not know that it is all
        assert joined(pieces) == whole


def test_a_damaged_row_group_costs_its_rows_alone(tmp_path: Path) -> None:
    content = bytearray(parquet_of(table_of(TEXTS), row_group_size=10, compression="gzip"))
    metadata = pq.ParquetFile(io.BytesIO(content)).metadata
    column = metadata.row_group(1).column(1)
    start = column.dictionary_page_offset or column.data_page_offset
    content[start + 40 : start + 80] = bytes(40)
    found = read(written(tmp_path, "a.parquet", bytes(content)))
    assert found["a.parquet:11"] == ["!damaged_file@a.parquet:11"]
    assert len(found) == 10 + 1 + 10 + 9


def test_what_is_no_archive_of_its_name_is_refused(tmp_path: Path) -> None:
    for name in ("a.tar", "a.tar.gz", "a.parquet", "a.arrow", "a.parquet.gz"):
        ((_, items),) = told(
            documents_of(TextFiles([written(tmp_path, name, b"Just text.\n" * 99)]))
        )
        assert items == [f"!damaged_file@{name}"]


def test_other_encodings_are_read_but_for_tables(tmp_path: Path) -> None:
    utf_16 = csv_of(["Café."]).decode().encode("utf-16")
    assert read(written(tmp_path, "a.csv", utf_16), encoding="utf-16") == {"a.csv:1": ["Café."]}
    archive = tar_of([("a.txt", "Café.\n\nTwo.".encode("utf-16")), ("b.txt", b"\xff\xfe")])
    found = read(written(tmp_path, "a.tar", archive), encoding="utf-16")
    assert found["a.tar/a.txt"] == ["Café.", "Two."]
    table = written(tmp_path, "a.parquet", parquet_of(table_of(["Café."])))
    assert read(table, encoding="latin-1") == {"a.parquet:1": ["Café."]}


def test_a_declared_format_goes_before_the_suffix(tmp_path: Path) -> None:
    written(tmp_path, "a.json.gz", gzip.compress(b'{"text": "Good."}\n'))
    written(tmp_path, "b.txt", b"Not asked for.")
    source = TextFiles([tmp_path], FilesConfig(format="json-lines"))
    assert dict(told(documents_of(source))) == {"a.json.gz:1": ["Good."]}
    assert source.left_out() == {"not named like text (.txt)": 1}


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.tar.gz"])
def test_a_file_that_changes_is_noticed(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, FORMATS[name])
    plan = Plan.from_dict(json.loads(json.dumps(plan_of(TextFiles([path])).to_dict())))
    written(tmp_path, name, FORMATS[name][:-20] + bytes(20))
    assert FileVersion.of(path).sha256 != "unreadable"
    with pytest.raises(ChangedTextError, match="changed since the run began"):
        told(plan.documents(0))
