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
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from pipeline.sources import streams, table_file, tar_file, text_file
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


QUOTE = '"'
LZ4 = pa.ipc.IpcWriteOptions(compression="lz4")
JSON_LINES = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS).encode()
MEMBERS = [(f"web/{number}.txt", text.encode()) for number, text in enumerate(TEXTS)]
LONG = [
    ("a.txt", "\n".join(TEXTS).encode()),
    ("empty.txt", b""),
    ("b.txt", "\n".join(TEXTS[:3]).encode()),
]
STRAY_QUOTES = b"id,text\n" + b"".join(
    f'{number},"Two lines,\n""{number}"" in\nall.\n"\n'.encode()
    if number % 5 == 3
    else f"{number},{'' if number % 7 else QUOTE}Row “{number}” is a text.\n".encode()
    for number in range(60)
)
FORMATS = {
    "a.txt": "\n".join(TEXTS).encode(),
    "a.txt.gz": gzip.compress("\n".join(TEXTS).encode()),
    "a.jsonl": JSON_LINES,
    "a.jsonl.zst": zstandard.ZstdCompressor().compress(JSON_LINES),
    "a.csv": csv_of(TEXTS),
    "a.csv.bz2": bz2.compress(csv_of(TEXTS)),
    "a.tsv": rows_of(
        (f'"{text.split()[0]}" {number}, "said' for number, text in enumerate(TEXTS)), "\t"
    ),
    "stray-quotes.csv": STRAY_QUOTES,
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

OTHER_TEXTS = {"a.txt", "a.txt.gz", "a.tgz", "long.tar", "a.tsv", "stray-quotes.csv"}
WHOLE_ANYWHERE = {"a.txt", "a.jsonl", "a.tsv", "stray-quotes.csv"}
"""What may be cut and look whole, or has refusals of its own."""

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
    assert all(later.offset - one.offset >= 60 for one, later in pairwise(places[:-1]))
    pieces = [*pairwise([*places[:-1], None])]

    in_order = [told(stream.documents(*piece)) for piece in pieces]
    alone = [told(source.streams()[0].documents(*piece)) for piece in reversed(pieces)]

    assert joined(in_order) == whole
    assert alone[::-1] == in_order


@pytest.mark.parametrize("name", sorted(set(FORMATS) - OTHER_TEXTS))
def test_all_formats_hold_the_same_texts(name: str, tmp_path: Path) -> None:
    documents = read(written(tmp_path, name, FORMATS[name]))

    expected = [
        [f"Story {n} begins.", f"It has “{n * 'word '}” in it, and ends."] for n in range(1, 40)
    ]
    assert list(documents.values()) == expected


def test_a_row_is_named_by_its_file_and_number(tmp_path: Path) -> None:
    assert list(read(written(tmp_path, "a.csv", csv_of(TEXTS[:2])))) == ["a.csv:1", "a.csv:2"]
    assert list(read(written(tmp_path, "b.tar", tar_of(MEMBERS[:1])))) == ["b.tar/web/0.txt"]


def test_rows_of_csv_without_text_are_refused_one_by_one(tmp_path: Path) -> None:
    content = (
        b"id,text\n"
        b"1,Good.\n"
        b"2, \n"
        b"\n"
        b"3\n"
        b"4,Too,many\n"
        b'5,"Quoted" wrongly\n'
        b"6,Caf\xe9\n"
        b'7,"Two\nlines, one row."\n'
        b'8,"Never closed.\n'
    )
    found = read(written(tmp_path, "a.csv", content), paragraphs="line")
    assert found == {
        "a.csv:1": ["Good."],
        "a.csv:2": ["!empty_text@a.csv:2"],
        "a.csv:3": ["!bad_row@a.csv:3"],
        "a.csv:4": ["!bad_row@a.csv:4"],
        "a.csv:5": ["!bad_row@a.csv:5"],
        "a.csv:6": ["!undecodable@a.csv:6"],
        "a.csv:7": ["Two", "lines, one row."],
        "a.csv:8": ["!bad_row@a.csv:8"],
    }


def refusals_in(path: Path, **config: object) -> list[str]:
    documents = documents_of(TextFiles([path], FilesConfig(**config)))
    items = [item for document in documents for item in document.paragraphs]
    return [item.detail for item in items if not isinstance(item, Paragraph)]


def test_a_stray_quote_costs_its_row_alone(tmp_path: Path) -> None:
    texts = [f"{QUOTE * (number == 3)}Row {number} is a text." for number in range(1000)]
    path = written(tmp_path, "a.csv", rows_of(texts, ","))
    found = read(path)
    assert found.pop("a.csv:4") == ["!bad_row@a.csv:4"]
    assert [*found.values()] == [[text] for text in texts if not text.startswith('"')]
    (said,) = refusals_in(path)
    assert said.startswith("line 5: no row (unexpected end of data): ")
    assert said.endswith("for 997 lines from here on, 1 of them left out; mend its quotes")


def test_what_stands_between_stray_quotes_is_read(tmp_path: Path) -> None:
    found = read(written(tmp_path, "a.csv", STRAY_QUOTES))
    assert [*found.values()] == [
        [f'Two lines, "{number}" in all.']
        if number % 5 == 3
        else [f"Row “{number}” is a text." if number % 7 else f"!bad_row@a.csv:{number + 1}"]
        for number in range(60)
    ]


def test_a_broken_row_of_several_lines_is_refused_whole(tmp_path: Path) -> None:
    broken = b'1,"It begins,\n\nshe said, softly.\nIt "ends", late.\n"\n'
    path = written(tmp_path, "a.csv", b"id,text\n" + broken + b"2,Good.\n")
    found = read(path)
    assert found["a.csv:1"] == ["!bad_row@a.csv:1"]
    assert [*found.values()][-1] == ["Good."]
    assert not any("softly" in item for items in found.values() for item in items)
    assert "for 4 lines from here on, 4 of them left out" in refusals_in(path)[0]


def test_a_damaged_line_behind_a_stray_quote_is_refused_itself(tmp_path: Path) -> None:
    content = b'id,text\n1,"Never closed.\n2,Good.\n3,Caf\xe9\n4,Good, too\n5,Also good.\n'
    assert [*read(written(tmp_path, "a.csv", content)).values()] == [
        ["!bad_row@a.csv:1"],
        ["Good."],
        ["!undecodable@a.csv:3"],
        ["Also good."],
    ]


def test_a_row_of_too_many_fields_says_its_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b'id,text\n1,"Two\nlines.",\n2,Good.\n')
    assert refusals_in(path) == ["3 fields in 2 lines under a header of 2; quote the text"]


def test_a_row_that_no_field_bounds_is_not_held(tmp_path: Path) -> None:
    lines = 20_000
    path = written(tmp_path, "a.csv", b'id,text\n1,"x\n' + b'x","y\n' * lines)
    (said, *_) = refusals_in(path, max_paragraph_characters=100)
    assert "more than 10,000 characters" in said
    assert "2,000 lines" in said


def test_a_quote_between_tabs_is_a_character(tmp_path: Path) -> None:
    texts = ["Plain.", '"Yes," she said.', '"Wait till I tell you, he began', "It's 5\"", '""', '"']
    found = read(written(tmp_path, "a.tsv", rows_of(texts, "\t")))
    assert [*found.values()] == [[text] for text in texts]
    path = written(tmp_path, "b.tsv", b"id\ttext\n1\tTwo\ttabs.\n")
    (said,) = refusals_in(path)
    assert said.endswith("take tabs and line ends out of the text")


def test_a_quote_that_is_never_closed_is_not_held(tmp_path: Path) -> None:
    content = b'text\n"' + b"word \n" * 200_000
    path = written(tmp_path, "a.csv", content)
    found = read(path, max_paragraph_characters=100)
    assert found["a.csv:1"] == ["!bad_row@a.csv:1"]


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
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.98])
def test_a_truncated_file_ends_in_a_refusal(name: str, share: float, tmp_path: Path) -> None:
    content = FORMATS[name].rstrip(b"\0")  # a tar's end is filled up
    path = written(tmp_path, name, content[: int(share * len(content))])
    source = TextFiles([path])
    (stream,) = source.streams()

    whole = told(stream.documents())
    places = [START, *stream.survey()[:-1], None]
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


def test_an_arrow_file_whose_offsets_lie_is_refused(tmp_path: Path) -> None:
    content = arrow_of(table_of(TEXTS), pa.ipc.new_file)
    offsets = pa.array(TEXTS[:10]).buffers()[1].to_pybytes()[:40]
    at = content.index(offsets)
    content = content[: at + 36] + b"\xff\xff\xff\x7f" + content[at + 40 :]
    found = read(written(tmp_path, "a.arrow", content))
    assert found["a.arrow:1"] == ["!damaged_file@a.arrow:1"]
    assert len(found) == 30


def test_what_is_no_archive_of_its_name_is_refused(tmp_path: Path) -> None:
    for name in ("a.tar", "a.tar.gz", "a.parquet", "a.arrow", "a.parquet.gz"):
        ((_, items),) = told(
            documents_of(TextFiles([written(tmp_path, name, b"Just text.\n" * 99)]))
        )
        assert items == [f"!damaged_file@{name}"]


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
        "link in an archive": 2,
        "name that leads out of an archive": 2,
        "no regular file in an archive": 2,
        "not named like text (.possf2)": 1,
        "second of its name in an archive": 1,
    }
    assert source.left_out() == counted
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))).source.left_out() == counted


def test_a_tar_whose_records_fill_the_memory_is_refused(tmp_path: Path) -> None:
    header = tarfile.TarInfo("a.txt")
    header.pax_headers = {"comment": "x" * (2 << 20)}
    content = header.tobuf(tarfile.PAX_FORMAT)
    found = read(written(tmp_path, "a.tar.gz", gzip.compress(content)))
    assert found == {"a.tar.gz": ["!damaged_file@a.tar.gz"]}


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
    assert Announced.of(path).sha256 != "unreadable"
    with pytest.raises(ChangedTextError, match="changed since the run began"):
        told(plan.documents(0))


@pytest.mark.parametrize("name", ["a.csv.gz", "a.parquet", "a.arrow", "a.tar.gz"])
def test_a_long_file_is_read_in_bounded_memory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (streams, table_file, tar_file, text_file):
        monkeypatch.setattr(module, "STEP_BYTES", 500_000)
    texts = [f"Row {number}. {'word ' * 200}" for number in range(30_000)]
    long = {
        "a.csv.gz": lambda: gzip.compress(csv_of(texts), 1),
        "a.parquet": lambda: parquet_of(table_of(texts)),
        "a.arrow": lambda: arrow_of(table_of(texts), pa.ipc.new_file),
        "a.tar.gz": lambda: gzip.compress(tar_of([("a.txt", "\n\n".join(texts).encode())]), 1),
    }[name]
    path = written(tmp_path, name, long())
    del long
    (stream,) = TextFiles([path]).streams()
    allocated = pa.total_allocated_bytes()
    tracemalloc.start()
    count = most = 0
    places = stream.survey()
    for document in stream.documents():
        for _ in document.paragraphs:
            count += 1
        most = max(most, pa.total_allocated_bytes() - allocated)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 30_000
    assert len(places) > 40
    assert peak < 16 << 20
    assert most < 40 << 20
