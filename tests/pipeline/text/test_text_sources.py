"""Sources: every format as a whole and in pieces, what is refused, which files paths stand for."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import tarfile
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from treeviews.pipeline.text import documents
from treeviews.pipeline.text.documents import (
    START,
    ChangedTextError,
    Document,
    Paragraph,
    documents_of,
)
from treeviews.pipeline.text.plan import Plan, plan_of
from treeviews.pipeline.text.text_files import FilesConfig
from treeviews.pipeline.text.text_sources import PythonDocs, TextFiles, reopen

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


TEXTS = [
    f"Story {number} begins.\n\nIt has “{number * 'word '}” in it,\nand ends.\n"
    for number in range(1, 40)
]


@pytest.fixture
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "STEP_BYTES", 60)


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
    pieces = [*pairwise([*places[:-1], None])]

    in_order = [told(stream.documents(*piece)) for piece in pieces]
    alone = [told(source.streams()[0].documents(*piece)) for piece in reversed(pieces)]

    assert joined(in_order) == whole
    assert alone[::-1] == in_order


@pytest.mark.usefixtures("short_steps")
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl.zst", "a.csv", "a.parquet", "a.tgz"])
def test_a_plan_that_ends_early_has_the_first_parts_of_the_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treeviews.pipeline.text.plan._target", lambda number: 100 + 20 * number)
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


@pytest.mark.usefixtures("short_steps")
@pytest.mark.parametrize("is_archive", [False, True])
def test_a_text_whose_first_piece_is_blank_is_not_empty(is_archive: bool, tmp_path: Path) -> None:
    text = b"\n" * 100 + b"Text."
    content = tar_of([("a.txt", text), ("b.txt", b"\n" * 9)]) if is_archive else text
    source = TextFiles([written(tmp_path, "a.tar" if is_archive else "a.txt", content)])
    places = [START, *list(source.streams()[0].survey())[:-1], None]
    pieces = [told(source.streams()[0].documents(*piece)) for piece in pairwise(places)]
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


def test_of_a_cut_text_of_another_encoding_all_before_the_cut_is_read(tmp_path: Path) -> None:
    text = "".join(f"Paragraph {number} of a long text.\n\n" for number in range(9000))
    content = gzip.compress(text.encode("utf-16"), mtime=0)
    path = written(tmp_path, "a.txt.gz", content[: len(content) // 2])
    (items,) = read(path, encoding="utf-16").values()
    assert len(items) > 3000
    assert [item.split("@")[0] for item in items if item[0] == "!"] == ["!damaged_file"]


@pytest.mark.usefixtures("short_steps")
@pytest.mark.parametrize("codec", ["utf-8", "utf-16"])
def test_lines_end_as_python_reads_them(codec: str, tmp_path: Path) -> None:
    text = "One line.\rTwo line.\r\rThree.\r" + "Four.\r\nFive.\n\r\nSix.\r\r\nw\r\n\r\n" * 9
    text += f"\r{'w ' * 400}\r\n{'w ' * 199}\rSeven.\r\n\r\nEnd.\r"
    path = written(tmp_path, "a.txt", text.encode(codec))
    source = TextFiles([path], FilesConfig(encoding=codec, max_paragraph_characters=99))
    (stream,) = source.streams()
    items = [item for document in stream.documents() for item in document.paragraphs]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for item in items:
        first = int(item.position.partition(":")[2]) - 1
        if isinstance(item, Paragraph):
            assert " ".join(lines[first:]).startswith(item.text)
        else:
            assert (item.reason, len(lines[first]) > 99) == ("giant_line", True)
    assert [getattr(item, "text", item.position) for item in items[:2]] == [
        "One line. Two line.",
        "Three. Four. Five.",
    ]
    assert (len(items), items[-1].text) == (32, "End.")
    places = [START, *list(stream.survey())[:-1], None]
    assert len(places) > 3
    pieces = [told(source.streams()[0].documents(*piece)) for piece in pairwise(places)]
    assert joined(pieces) == told(stream.documents())


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


@pytest.mark.usefixtures("short_steps")
def test_a_damaged_group_of_rows_costs_its_rows(tmp_path: Path) -> None:
    content = parquet_of(table_of(TEXTS), row_group_size=10, compression="none")
    column = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(1).column(1)
    begin = column.dictionary_page_offset or column.data_page_offset
    damage = content[:begin] + b"\xff" * column.total_compressed_size
    path = written(tmp_path, "a.parquet", damage + content[len(damage) :])
    source = TextFiles([path])
    (stream,) = source.streams()
    whole = told(stream.documents())
    assert [*dict(whole)] == [f"a.parquet:{row}" for row in (*range(1, 12), *range(21, 40))]
    refused = [item for _, items in whole for item in items if item.startswith("!")]
    assert refused == ["!damaged_file@a.parquet:11"]
    places = [START, *list(stream.survey())[:-1], None]
    pieces = [told(source.streams()[0].documents(*piece)) for piece in pairwise(places)]
    assert joined(pieces) == whole


STORY = "The boat left at dawn.\nIt came back\nin the evening.\n\nNobody had seen it.\n"
PARAGRAPHS = ["The boat left at dawn. It came back in the evening.", "Nobody had seen it."]
BAD_JSON = (
    b'{"text": "Good."}\n{"text": \n\n{"body": "x"}\n[1]\n{"text": " "}\n{"text": 3}\n'
    b'{"text": "Two.\\n\\nParts."}\n'
)
BAD_ROWS = (
    b'id,text\n1,Good.\n2, \n\n3\n4,Too,many\n5,"Quoted" wrongly\n6,Caf\xe9\n'
    b'7,"Two\nlines, one row."\n8,"Two\nCaf\xe9\nlines."\n9,Good.\n10,"Never closed.\n'
)
QUOTES = ['"Yes," she said.', '"Wait till I tell you, he began', "It's 5\"", '""', '"']


@pytest.mark.parametrize(
    ("name", "content", "config", "expected"),
    [
        ("a.md", STORY.encode(), {}, {"": PARAGRAPHS}),
        ("a.txt.xz", lzma.compress(STORY.encode()), {}, {"": PARAGRAPHS}),
        ("a.txt", b"\xef\xbb\xbfOne\r\ntwo.\r\n\r\nThree.\r\n", {}, {"": ["One two.", "Three."]}),
        ("a.txt", STORY.encode("utf-16"), {"encoding": "utf-16"}, {"": PARAGRAPHS}),
        ("a.txt", STORY.encode("utf-16-le"), {"encoding": "utf-16"}, {"": ["!damaged_file@{}:1"]}),
        ("a.txt", STORY.encode("utf-16"), {}, {"": ["!binary_file@{}"]}),
        ("a.txt", b"Ok.\n\nCaf\xe9.\n\nOk.", {}, {"": ["Ok.", "!undecodable@{}:3", "Ok."]}),
        ("a.txt", b"Caf\xe9.", {"encoding": "latin-1"}, {"": ["Café."]}),
        ("a.txt", b"A.\n" + b"w " * 60_000 + b"\nB.", {}, {"": ["A.", "!giant_line@{}:2", "B."]}),
        (
            "a.txt",
            b"Ten chars.\n" * 50 + b"\nAfter.\n",
            {"max_paragraph_characters": 100},
            {"": ["!giant_paragraph@{}:1", "After."]},
        ),
        *((name, b"\n\n", {}, {"": ["!empty_file@{}"]}) for name in ("a.txt", "a.jsonl", "a.csv")),
        (
            "a.jsonl.gz",
            gzip.compress(BAD_JSON, mtime=0),  # it is part of the test's name
            {},
            {
                ":1": ["Good."],
                ":2": ["!bad_json@{}:2"],
                ":4": ["!missing_text@{}:4"],
                ":5": ["!missing_text@{}:5"],
                ":6": ["!empty_text@{}:6"],
                ":7": ["!missing_text@{}:7"],
                ":8": ["Two.", "Parts."],
            },
        ),
        (
            "a.csv",
            BAD_ROWS,
            {"paragraphs": "line"},
            {
                ":1": ["Good."],
                ":2": ["!empty_text@{}:2"],
                ":3": ["!bad_row@{}:3"],
                ":4": ["!bad_row@{}:4"],
                ":5": ["!bad_row@{}:5"],
                ":6": ["!undecodable@{}:6"],
                ":7": ["Two", "lines, one row."],
                ":8": ["!undecodable@{}:8"],
                ":9": ["Good."],
                ":10": ["!bad_row@{}:10"],
            },
        ),
        (
            "a.csv",
            csv_of(["Café."]).decode().encode("utf-16"),
            {"encoding": "utf-16"},
            {":1": ["Café."]},
        ),
        *(
            (
                name,
                b"text\nOne.\n" + b"w" * 2000 + b"\nThree.\n",
                {"max_paragraph_characters": 9},
                {":1": ["One."], ":2": ["!giant_line@{}:2"], ":3": ["Three."]},
            )
            for name in ("a.csv", "a.tsv")
        ),
        ("a.csv", b"w" * 2000, {"max_paragraph_characters": 9}, {"": ["!giant_line@{}"]}),
        ("a.csv", b"id,body\n1,Good.\n", {}, {"": ["!missing_text@{}"]}),
        ("a.csv", b"id,body\n1,Good.\n", {"text_field": "body"}, {":1": ["Good."]}),
        ("a.tsv", rows_of(QUOTES, "\t"), {}, {f":{n}": [q] for n, q in enumerate(QUOTES, 1)}),
        ("a.tsv", b"id\ttext\n1\tTwo\ttabs.\n", {}, {":1": ["!bad_row@{}:1"]}),
        (
            "a.tar",
            tar_of([("a.txt", "Café.\n\nTwo.".encode("utf-16"))]),
            {"encoding": "utf-16"},
            {"/a.txt": ["Café.", "Two."]},
        ),
        *(
            (name, b"Just text.\n" * 99, {}, {"": ["!damaged_file@{}"]})
            for name in ("a.tar", "a.tar.gz", "a.parquet", "a.arrow", "a.parquet.gz")
        ),
    ],
)
def test_what_a_file_holds_and_what_of_it_is_refused(
    name: str,
    content: bytes,
    config: dict[str, Any],
    expected: dict[str, list[str]],
    tmp_path: Path,
) -> None:
    found = read(written(tmp_path, name, content), **config)
    assert found == {
        name + suffix: [item.replace("{}", name) for item in items]
        for suffix, items in expected.items()
    }


def test_folders_globs_and_files_combine_in_order_without_repeats(tmp_path: Path) -> None:
    for name in ("b/2.txt", "b/deep/1.txt", "b/.hidden/3.txt", "b/picture.png", "a.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Text.")
    names = list(read([tmp_path / "b", f"{tmp_path}/*.txt", tmp_path / "b" / "2.txt"]))
    assert names == ["b/2.txt", "b/deep/1.txt", "a.txt"]


def test_what_is_left_out_is_counted_by_reason(tmp_path: Path) -> None:
    for name in ("a.txt", "b.png", "c.PNG", "Makefile", ".hidden", ".git/x.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Text.")
    (tmp_path / "lost.txt").symlink_to(tmp_path / "gone.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    assert TextFiles([tmp_path]).left_out() == {
        "hidden": 2,
        "link to nothing": 1,
        "no regular file": 1,
        "not named like text (.png)": 2,
        "not named like text (no suffix)": 1,
    }


def test_an_unreadable_file_is_refused_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.txt").write_text("Secret.")
    (tmp_path / "b.txt").write_text("Text.")
    readable = TextFiles([tmp_path]).describe()
    (tmp_path / "a.txt").write_text("Secrets.")
    opened = Path.open

    def forbidden(path, *arguments, **keywords):
        if path.name == "a.txt":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **keywords)

    monkeypatch.setattr(Path, "open", forbidden)
    assert TextFiles([tmp_path]).describe()["sha256"] != readable["sha256"]
    assert read([tmp_path]) == {"a.txt": ["!unreadable_file@a.txt"], "b.txt": ["Text."]}
    assert "a.txt: cannot be opened" in caplog.text
    assert "its text is missing from this corpus" in caplog.text


@pytest.mark.usefixtures("short_steps")
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.parquet", "a.tar"])
def test_every_piece_of_an_unreadable_file_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, name, FORMATS[name])
    (stream,) = TextFiles([path]).streams()
    places = [START, *list(stream.survey())[:-1], None]
    assert len(places) > 3

    def forbidden(path, *arguments, **keywords):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", forbidden)
    for piece in pairwise(places):
        ((_, items),) = told(stream.documents(*piece))
        assert items == [f"!unreadable_file@{name}"]


def test_a_declared_format_goes_before_the_suffix(tmp_path: Path) -> None:
    written(tmp_path, "a.json.gz", gzip.compress(b'{"text": "Good."}\n'))
    written(tmp_path, "b.txt", b"Not asked for.")
    source = TextFiles([tmp_path], FilesConfig(format="json-lines"))
    assert dict(told(documents_of(source))) == {"a.json.gz:1": ["Good."]}
    assert source.left_out() == {"not named like text (.txt)": 1}


@pytest.mark.parametrize(
    ("path", "kind", "words"),
    [
        ("nowhere.txt", FileNotFoundError, "no such file, folder or match; check the path"),
        ("x\0y", FileNotFoundError, "no such file, folder or match"),
        ("n" * 300, FileNotFoundError, "no such file, folder or match"),
        (".", ValueError, r"no text in this folder; looked for \.txt"),
        ("pipe", ValueError, "no regular file"),
    ],
)
def test_paths_without_text_are_errors(
    path: str, kind: type[Exception], words: str, tmp_path: Path
) -> None:
    (tmp_path / "picture.png").write_bytes(b"\0")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(kind, match=words):
        TextFiles([tmp_path / path])


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


def test_members_that_are_no_text_are_left_out_and_counted(tmp_path: Path) -> None:
    link = tarfile.TarInfo("web/passwd.txt")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    names = ("/etc/a.txt", "../a.txt", "web/tagged.possf2", "web/.hidden.txt", "./web/a.txt")
    members = [*((name, b"Yes.") for name in names), ("web/a.txt", b"Again.")]
    path = written(tmp_path, "a.tgz", gzip.compress(tar_of(members, link)))
    assert read(path) == {"a.tgz/web/a.txt": ["Yes."]}

    plan = plan_of(TextFiles([path]))

    counted = {
        "hidden": 1,
        "name that leads out of an archive": 2,
        "no regular file in an archive": 1,
        "not named like text (.possf2)": 1,
        "second of its name in an archive": 1,
    }
    assert plan.left_out == counted
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))).left_out == counted


def test_the_default_text_is_the_same_whatever_python_runs() -> None:
    documents = [(d.document_id, list(d.paragraphs)) for d in documents_of(PythonDocs())]
    assert len(documents) == 464
    assert documents[0][0] == "topic/specialnames"
    assert documents[-1][0] == "module/zoneinfo._zoneinfo"
    paragraphs = [paragraph for _, each in documents for paragraph in each]
    assert len(paragraphs) == len({paragraph.text for paragraph in paragraphs}) == 9943
    assert PythonDocs().describe()["python"] == "CPython 3.11.7"


def test_parts_of_the_default_text_are_read_in_any_order() -> None:
    whole = [d.document_id for d in documents_of(PythonDocs())]
    values = plan_of(PythonDocs()).to_dict()
    assert len(values["ends"]) == 2
    parts = [[d.document_id for d in Plan.from_dict(values).documents(n)] for n in (1, 0)]
    assert parts[1] + parts[0] == whole
    assert reopen(values["source"]).describe() == PythonDocs().describe()
