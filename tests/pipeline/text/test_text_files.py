from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from pathlib import Path

import pytest
import zstandard

from pipeline.base.refusal import Refusal
from pipeline.text.documents import ChangedTextError, Paragraph, documents_of
from pipeline.text.text_files import FilesConfig
from pipeline.text.text_sources import TextFiles

STORY = "The boat left at dawn.\nIt came back\nin the evening.\n\nNobody had seen it.\n"
PARAGRAPHS = ["The boat left at dawn. It came back in the evening.", "Nobody had seen it."]


def read(paths, **config) -> dict[str, list[str]]:
    """Texts by document, a refusal shown as ``!reason@position``."""
    return {
        document.document_id: [
            item.text if isinstance(item, Paragraph) else f"!{item.reason}@{item.position}"
            for item in document.paragraphs
        ]
        for document in documents_of(TextFiles(paths, FilesConfig(**config)))
    }


def refusals(path: Path, **config) -> list[Refusal]:
    documents = documents_of(TextFiles([path], FilesConfig(**config)))
    return [item for d in documents for item in d.paragraphs if isinstance(item, Refusal)]


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("a.txt", bytes),
        ("a.txt.gz", gzip.compress),
        ("a.txt.bz2", bz2.compress),
        ("a.txt.xz", lzma.compress),
        ("a.txt.zst", zstandard.ZstdCompressor().compress),
        ("a.md", bytes),
    ],
)
def test_plain_and_compressed_files_give_the_same_paragraphs(tmp_path, name, compress):
    (tmp_path / name).write_bytes(compress(STORY.encode()))
    assert read([tmp_path / name]) == {name: PARAGRAPHS}


def test_windows_line_ends_and_byte_order_mark_are_no_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfOne\r\ntwo.\r\n\r\nThree.\r\n")
    assert read([tmp_path / "a.txt"]) == {"a.txt": ["One two.", "Three."]}


def test_folders_globs_and_files_combine_in_order_without_repeats(tmp_path):
    for name in ("b/2.txt", "b/deep/1.txt", "b/.hidden/3.txt", "b/picture.png", "a.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Text.")
    names = list(read([tmp_path / "b", f"{tmp_path}/*.txt", tmp_path / "b" / "2.txt"]))
    assert names == ["b/2.txt", "b/deep/1.txt", "a.txt"]


def test_json_lines_give_a_document_a_line(tmp_path):
    lines = [{"text": "First.\n\nSecond."}, {"text": "Third."}]
    data = "\n".join(json.dumps(line) for line in lines).encode()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(data))
    assert read([tmp_path]) == {
        "a.jsonl.gz:1": ["First.", "Second."],
        "a.jsonl.gz:2": ["Third."],
    }


def test_bad_json_lines_are_refused_one_by_one(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": "Good."}\n{"text": \n\n{"body": "x"}\n[1]\n{"text": " "}\n{"text": 3}\n'
    )
    assert read([path]) == {
        "a.jsonl:1": ["Good."],
        "a.jsonl:2": ["!bad_json@a.jsonl:2"],
        "a.jsonl:4": ["!missing_text@a.jsonl:4"],
        "a.jsonl:5": ["!missing_text@a.jsonl:5"],
        "a.jsonl:6": ["!empty_text@a.jsonl:6"],
        "a.jsonl:7": ["!missing_text@a.jsonl:7"],
    }
    assert "set text_field" in refusals(path)[1].detail


def test_a_binary_file_is_refused_whole(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"PK\x03\x04\0\0\0 some words")
    assert read([tmp_path]) == {"a.txt": ["!binary_file@a.txt"]}


def test_an_undecodable_line_costs_its_line_only(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"Good line.\n\nCaf\xe9 line.\n\nLast line.\n")
    assert read([tmp_path]) == {"a.txt": ["Good line.", "!undecodable@a.txt:3", "Last line."]}
    assert read([tmp_path], encoding="latin-1")["a.txt"][1] == "Café line."


def test_utf_16_is_read_when_asked_for(tmp_path):
    (tmp_path / "a.txt").write_text(STORY, encoding="utf-16")
    assert read([tmp_path], encoding="utf-16") == {"a.txt": PARAGRAPHS}
    assert read([tmp_path]) == {"a.txt": ["!binary_file@a.txt"]}


def test_a_giant_line_is_refused_without_being_held(tmp_path):
    (tmp_path / "a.txt").write_text("Before.\n" + "word " * 50_000 + "\nAfter.\n")
    assert read([tmp_path]) == {"a.txt": ["Before.", "!giant_line@a.txt:2", "After."]}


def test_a_giant_paragraph_is_refused_and_the_remedy_named(tmp_path):
    (tmp_path / "a.txt").write_text("Ten chars.\n" * 50 + "\nAfter.\n")
    found = read([tmp_path], max_paragraph_characters=100)
    assert found == {"a.txt": ["!giant_paragraph@a.txt:1", "After."]}
    assert "paragraphs=line" in refusals(tmp_path / "a.txt", max_paragraph_characters=100)[0].detail


@pytest.mark.parametrize("content", ["", "\n \n\t\n"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_an_empty_file_is_refused(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    assert read([tmp_path]) == {name: [f"!empty_file@{name}"]}


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("a.txt.gz", gzip.compress),
        ("a.txt.bz2", bz2.compress),
        ("a.txt.xz", lzma.compress),
        ("a.txt.zst", zstandard.ZstdCompressor().compress),
    ],
)
def test_a_cut_compressed_file_ends_in_a_refusal(tmp_path, name, compress):
    lines = "".join(f"Line number {number} of many.\n\n" for number in range(20_000))
    data = compress(lines.encode())
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    assert read([tmp_path])[name][-1].startswith(f"!damaged_file@{name}:")


@pytest.mark.parametrize("name", ["nowhere.txt", "x\0y", "n" * 300])
def test_a_missing_path_is_an_error(tmp_path, name):
    with pytest.raises(FileNotFoundError, match="no such file, folder or match; check the path"):
        TextFiles([tmp_path / name])


def test_a_folder_without_text_is_an_error(tmp_path):
    (tmp_path / "picture.png").write_bytes(b"\0")
    with pytest.raises(ValueError, match=r"no text in this folder; looked for \.txt"):
        TextFiles([tmp_path])


def test_what_is_left_out_is_counted_by_reason(tmp_path):
    for name in ("a.txt", "b.png", "c.PNG", "Makefile", ".hidden", ".git/x.txt", "d/e.\x1bm"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Text.")
    (tmp_path / "lost.txt").symlink_to(tmp_path / "gone.txt")
    (tmp_path / "linked").symlink_to(tmp_path / "d")
    os.mkfifo(tmp_path / "pipe.txt")
    source = TextFiles([tmp_path])
    assert [document.document_id for document in documents_of(source)] == ["a.txt"]
    assert source.left_out() == {
        "hidden": 2,
        "link to a folder": 1,
        "link to nothing": 1,
        "no regular file": 1,
        "not named like text (.\\x1bm)": 1,
        "not named like text (.png)": 2,
        "not named like text (no suffix)": 1,
    }


def test_a_folder_that_cannot_be_searched_is_an_error(tmp_path, monkeypatch):
    def forbidden(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", forbidden)
    with pytest.raises(PermissionError, match="Permission denied"):
        TextFiles([tmp_path])


def change(path: Path, how: str) -> None:
    if how == "appended":
        path.write_text(path.read_text() + "More.\n")
    elif how == "removed":
        path.unlink()
    else:
        path.write_text("X" + path.read_text()[1:])


@pytest.mark.parametrize("how", ["appended", "removed", "exchanged"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.bin.txt", "a.txt.gz"])
def test_a_file_that_changed_since_it_was_described_is_named(tmp_path, name, how):
    path = tmp_path / name
    path.write_text("\0" if "bin" in name else STORY)
    source = TextFiles([tmp_path])
    source.describe()
    change(path, how)
    with pytest.raises(ChangedTextError, match=rf"{name}: changed since the run began .*sha256"):
        [list(document.paragraphs) for document in documents_of(source)]


def test_a_link_is_read_by_its_own_name_and_its_target_once(tmp_path):
    blob = tmp_path / "blobs" / "abc123"
    blob.parent.mkdir()
    blob.write_text('{"text": "Linked."}\n')
    (tmp_path / "ln.jsonl").symlink_to(blob)
    (tmp_path / "other.jsonl").symlink_to(blob)
    assert read([tmp_path / "ln.jsonl", tmp_path]) == {"ln.jsonl:1": ["Linked."]}


def test_a_name_that_is_not_utf_8_is_escaped(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path / "caf") + b"\xe9.txt"))
    try:
        path.write_text("Text.")
    except OSError:
        pytest.skip("this file system takes UTF-8 names alone")
    assert read([tmp_path]) == {"caf\\xe9.txt": ["Text."]}
    TextFiles([tmp_path]).describe()


def test_an_unreadable_file_is_refused_and_the_others_are_read(tmp_path, monkeypatch, caplog):
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


@pytest.mark.parametrize("config", [{"paragraphs": "page"}, {"encoding": "utf-9"}])
def test_unknown_settings_are_errors(config):
    with pytest.raises(ValueError, match=next(iter(config.values()))):
        FilesConfig(**config)


def test_the_description_follows_content_and_not_place(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text(STORY)
    first = TextFiles([tmp_path / "one"]).describe()
    assert TextFiles([tmp_path / "two"]).describe() == first
    (tmp_path / "two" / "a.txt").write_text(STORY + "More.")
    assert TextFiles([tmp_path / "two"]).describe() != first
