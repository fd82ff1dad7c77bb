"""Sentences with their places in the text that they were cut from."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.support.source_files import csv_of, tar_of
from tests.support.splitting import split_sentences
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.text import documents, plan, split_corpus
from treeviews.pipeline.text.cleaning_steps import CleaningConfig
from treeviews.pipeline.text.split_corpus import PLAN_NAME, CorpusSplit, SourceText
from treeviews.pipeline.text.text_files import FilesConfig
from treeviews.pipeline.text.text_sources import TextFiles
from treeviews.pipeline.text.tokenization import SentenceConfig

TEXT = "".join(
    f"Owl {number} said “it's naïve”,\nand wrapped  its li\u00adne. We can't\tgo… It slept 😀!\n"
    + ("\n" if number % 3 else "   \n\n")
    + ("1 2 3.\n\n" if number % 4 == 0 else "")
    for number in range(40)
)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_target", lambda number: 8)
    monkeypatch.setattr(documents, "STEP_BYTES", 300)


def placed(source: TextFiles, folder: Path, documents: Callable[[str], str]) -> int:
    """Holds every sentence against its row and its document; returns the number of shards."""
    split_sentences(source, SentenceConfig(), folder)
    shards = read_dataset_manifest(folder, "sentences").shards
    text = SourceText(folder)
    for shard in shards:
        rows = read_shard(folder, "sentences", shard.number).to_pylist()
        found = list(text.sentences(shard.number))
        assert len(found) == len(rows)
        for row, sentence in zip(rows, found, strict=True):
            assert sentence is not None
            document = documents(row["document_id"])
            parts = [document[start:end] for start, end in sentence.offsets]
            assert [part.replace("\u00ad", "") for part in parts] == row["tokens"]
            assert sentence.text == document[sentence.start :][: len(sentence.text)]
            assert sentence.words == row["tokens"]
    return len(shards)


@pytest.mark.parametrize(
    "name, packed", [("a.txt", bytes), ("a.txt.gz", gzip.compress), ("a.txt.bz2", bz2.compress)]
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_places_are_those_of_the_file_as_python_opens_it(
    tmp_path: Path, name: str, packed: Callable[[bytes], bytes], line_end: str
) -> None:
    (tmp_path / name).write_bytes(packed(TEXT.replace("\n", line_end).encode()))
    assert placed(TextFiles([tmp_path / name]), tmp_path / "out", lambda _: TEXT) > 3


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "shift_jis"])
def test_places_are_characters_whatever_the_encoding(tmp_path: Path, encoding: str) -> None:
    kept = TEXT.encode(encoding, "ignore").decode(encoding)
    (tmp_path / "a.txt").write_bytes(kept.encode(encoding))
    config = FilesConfig(encoding="utf-8" if encoding == "utf-8-sig" else encoding)
    assert placed(TextFiles([tmp_path / "a.txt"], config), tmp_path / "out", lambda _: kept) > 3


def test_lines_that_are_refused_count_as_characters(tmp_path: Path) -> None:
    giant = "x" * 1_000 + "\n"
    lines = [b"The cat sat.\n\n", giant.encode(), b"\n\xff\xfe bad\n\n", b"It slept.\n\n"] * 20
    (tmp_path / "a.txt").write_bytes(b"".join(lines))
    text = b"".join(lines).decode("utf-8", "surrogateescape")
    source = TextFiles([tmp_path / "a.txt"], FilesConfig(max_paragraph_characters=100))
    assert placed(source, tmp_path / "out", lambda _: text) > 3


@pytest.mark.parametrize("paragraphs", ["blank-line", "line"])
def test_places_in_an_archive_are_those_of_its_texts(tmp_path: Path, paragraphs: str) -> None:
    members = {"one.txt": TEXT, "two/short.txt": "A dog slept.", "two/three.txt": "\n" + TEXT}
    content = tar_of((name, text.encode()) for name, text in members.items())
    (tmp_path / "web.tar.gz").write_bytes(gzip.compress(content))
    source = TextFiles([tmp_path / "web.tar.gz"], FilesConfig(paragraphs=paragraphs))
    documents = {f"web.tar.gz/{name}": text for name, text in members.items()}
    assert placed(source, tmp_path / "out", lambda name: documents[name]) > 3


def test_places_in_rows_are_those_of_the_field(tmp_path: Path) -> None:
    texts = [TEXT[:300], "A dog slept.\r\nIt\rwoke.\r\n\r\nWe went.\r", "One\ntwo. Three."]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "c.csv").write_bytes(csv_of(texts[:1]))
    parquet.write_table(pa.table({"text": texts}), tmp_path / "b.parquet")
    paths = [tmp_path / "a.jsonl", tmp_path / "b.parquet", tmp_path / "c.csv"]
    placed(TextFiles(paths), tmp_path / "out", lambda name: texts[int(name.rpartition(":")[2]) - 1])


def test_a_shard_in_the_middle_is_read_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    split_sentences(TextFiles([tmp_path / "a.txt"]), SentenceConfig(), tmp_path / "out")
    (last,) = read_dataset_manifest(tmp_path / "out", "sentences").shards[-1:]
    for sentence in SourceText(tmp_path / "out").sentences(last.number):
        assert sentence is not None
        assert TEXT[slice(*sentence.offsets[0])] == sentence.words[0]


def test_what_cleaning_changed_has_no_place_and_the_rest_has(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The cat sat.\n\nIt was ﬁne.\n\nIt slept.\n")
    cleaning = CleaningConfig(normalisation="nfkc")
    corpus = CorpusSplit(
        TextFiles([tmp_path / "a.txt"]), SentenceConfig(), tmp_path / "out", cleaning
    )
    corpus.begin()
    corpus.split_all()
    found = [sentence and sentence.start for sentence in SourceText(tmp_path / "out").sentences(0)]
    assert found == [0, None, 27]


@pytest.mark.parametrize("number", [0, 3])
def test_a_text_that_changed_is_refused(tmp_path: Path, number: int) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    split_sentences(TextFiles([tmp_path / "a.txt"]), SentenceConfig(), tmp_path / "out")
    text = SourceText(tmp_path / "out")
    for change in ((tmp_path / "a.txt").unlink, lambda: (tmp_path / "a.txt").write_text("A dog.")):
        change()
        with pytest.raises(ValueError, match=r"a\.txt: gone, or no longer the text .*put it back"):
            list(text.sentences(number))


def test_other_rules_and_a_missing_plan_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("The cat sat.\n")
    split_sentences(TextFiles([tmp_path / "a.txt"]), SentenceConfig(), tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(split_corpus, "describe_splitter", lambda config: {"tokenization_version": 9})
        with pytest.raises(ValueError, match="rules of another release"):
            SourceText(tmp_path / "out")
    (tmp_path / "out" / PLAN_NAME).unlink()
    with pytest.raises(FileNotFoundError, match="which text these sentences are of"):
        SourceText(tmp_path / "out")
