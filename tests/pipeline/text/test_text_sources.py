"""Sources: what a file holds and what of it is refused; which files paths stand for."""

from __future__ import annotations

import gzip
import lzma
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support.text_in_files import (
    arrow_of,
    documents_of,
    parquet_of,
    read,
    rows_of,
    table_of,
    tar_of,
    told,
    written,
)
from treeviews.pipeline.text import table_streams
from treeviews.pipeline.text.plan import plan_of
from treeviews.pipeline.text.text_files import FilesConfig
from treeviews.pipeline.text.text_sources import TextFiles

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
TABLES: list[tuple[pa.Table, dict[str, list[str]]]] = [
    (
        table_of(["Good.", None, " "]),
        {":1": ["Good."], ":2": ["!missing_text@{}:2"], ":3": ["!empty_text@{}:3"]},
    ),
    (table_of([b"Good.", b"\xe9"], pa.binary()), {":1": ["Good."], ":2": ["!undecodable@{}:2"]}),
    (pa.table({"text": [1, 2]}), {"": ["!missing_text@{}"]}),
    (pa.table({"body": ["Good."]}), {"": ["!missing_text@{}"]}),
    (table_of([]), {"": ["!empty_file@{}"]}),
]
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
        ("a.csv", "\ufefftext\nOne.\n".encode(), {}, {":1": ["One."]}),
        (
            "a.csv",
            "\ufefftext\nOne.\n".encode("utf-16-le"),
            {"encoding": "utf-16-le"},
            {":1": ["One."]},
        ),
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
            b"text\nOne.\n" + b"w" * 2000 + b"\nThree.\n",
            {"max_paragraph_characters": 9},
            {":1": ["One."], ":2": ["!giant_line@{}:2"], ":3": ["Three."]},
        ),
        ("a.csv", b"id,body\n1,Good.\n", {"text_field": "body"}, {":1": ["Good."]}),
        ("a.tsv", rows_of(QUOTES, "\t"), {}, {f":{n}": [q] for n, q in enumerate(QUOTES, 1)}),
        ("a.tsv", b"id\ttext\n1\tTwo\ttabs.\n", {}, {":1": ["!bad_row@{}:1"]}),
        (
            "a.tar",
            tar_of([("a.txt", "Café.\n\nTwo.".encode("utf-16"))]),
            {"encoding": "utf-16"},
            {"/a.txt": ["Café.", "Two."]},
        ),
        *(("a.parquet", parquet_of(table), {}, expected) for table, expected in TABLES),
        *(
            ("a.arrow", arrow_of(table, pa.ipc.new_file), {}, expected)
            for table, expected in TABLES
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
    opened = Path.open

    def forbidden(path, *arguments, **keywords):
        if path.name == "a.txt":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **keywords)

    monkeypatch.setattr(Path, "open", forbidden)
    assert read([tmp_path]) == {"a.txt": ["!unreadable_file@a.txt"], "b.txt": ["Text."]}
    assert "a.txt: cannot be opened" in caplog.text
    assert "its text is missing from this corpus" in caplog.text


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


def test_members_that_are_no_text_are_left_out_and_counted(tmp_path: Path) -> None:
    link = tarfile.TarInfo("web/passwd.txt")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    names = ("/etc/a.txt", "../a.txt", "web/tagged.possf2", "web/.hidden.txt", "./web/a.txt")
    members = [*((name, b"Yes.") for name in names), ("web/a.txt", b"Again.")]
    path = written(tmp_path, "a.tgz", gzip.compress(tar_of(members, link)))
    assert read(path) == {"a.tgz/web/a.txt": ["Yes."]}

    assert plan_of(TextFiles([path])).left_out == {
        "hidden": 1,
        "name that leads out of an archive": 2,
        "no regular file in an archive": 1,
        "not named like text (.possf2)": 1,
        "second of its name in an archive": 1,
    }


@pytest.mark.parametrize(
    ("name", "content_of"),
    [
        ("a.parquet", lambda table: parquet_of(table, use_dictionary=False)),
        ("a.arrow", lambda table: arrow_of(table, pa.ipc.new_file)),
    ],
)
def test_of_long_rows_few_are_held_at_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content_of: Callable[[pa.Table], bytes],
) -> None:
    held: list[int] = []
    values_of = table_streams._values

    def values(array: pa.Array) -> list[bytes | None]:
        held.append(len(array))
        return values_of(array)

    monkeypatch.setattr(table_streams, "_values", values)
    texts = [f"{number} {'a' * 1_000_000}" for number in range(10)]
    path = written(tmp_path, name, content_of(table_of(texts)))
    assert len(read(path, max_paragraph_characters=2_000_000)) == 10
    assert held[:2] == [5, 5] and max(held) == 5
