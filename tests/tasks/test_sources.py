"""Published corpora and data sets as Luigi runs them: what the user gives, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import logging
import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.download_server import serving
from tests.support.luigi_builds import build
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard
from treeviews.tasks import SplitSentences

PARAGRAPHS = ["The river rose. Nobody slept.", "The bridge held."]
SENTENCES = ["The river rose .", "Nobody slept .", "The bridge held ."]


def umbc_archive() -> bytes:
    """The layout of the WebBase archive: texts, and copies with tags."""
    members = {
        "webbase_all/example.org_1.txt": "\n\n".join(PARAGRAPHS) + "\n",
        "webbase_all/example.org_1.possf2": "The_DT river_NN rose_VBD ._.\n",
        "webbase_all/example.org_2.txt": "Another file. It is short.\n",
    }
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for name, text in members.items():
            header = tarfile.TarInfo(name)
            header.size = len(text)
            archive.addfile(header, io.BytesIO(text.encode()))
    return written.getvalue()


def sentences_of(task: SplitSentences) -> dict[str, list[str]]:
    assert build(task)
    found: dict[str, list[str]] = {}
    for number in range(len(read_dataset_manifest(task.folder, "sentences").shards)):
        for row in read_shard(task.folder, "sentences", number).to_pylist():
            found.setdefault(row["document_id"], []).append(" ".join(row["tokens"]))
    return found


def written(path: Path, content: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return str(path)


def task_of(folder: Path, **parameters: Any) -> SplitSentences:
    return SplitSentences(work_folder=folder / "work", **parameters)


def test_the_umbc_archive_is_read_without_its_tagged_copies(tmp_path: Path) -> None:
    paths = written(tmp_path / "umbc_corpus.tar.gz", umbc_archive())
    found = sentences_of(task_of(tmp_path, source="umbc", paths=paths))
    assert found == {
        "umbc_corpus.tar.gz/webbase_all/example.org_1.txt": SENTENCES,
        "umbc_corpus.tar.gz/webbase_all/example.org_2.txt": ["Another file .", "It is short ."],
    }


@pytest.mark.slow
def test_a_published_corpus_may_be_a_download(tmp_path: Path) -> None:
    archive = umbc_archive()
    digest = hashlib.sha256(archive).hexdigest()
    with serving({"umbc_corpus.tar.gz": archive}) as server:
        server.scripts["umbc_corpus.tar.gz"] = [f"cut:{len(archive) // 2}"]
        url = f"{server.address}/umbc_corpus.tar.gz"
        task = task_of(tmp_path, source="umbc", url=url, sha256=digest, limit=2)
        assert [*sentences_of(task).values()] == [SENTENCES[:2]]


@pytest.mark.slow
def test_a_review_of_amazon_is_a_document(tmp_path: Path) -> None:
    reviews = [{"overall": 5.0, "reviewText": text, "asin": "0"} for text in (*PARAGRAPHS, "")]
    lines = "".join(json.dumps(review) + "\n" for review in reviews)
    paths = written(tmp_path / "reviews_Books_5.json.gz", gzip.compress(lines.encode()))
    found = sentences_of(task_of(tmp_path, source="amazon-books", paths=paths))
    assert found == {
        "reviews_Books_5.json.gz:1": SENTENCES[:2],
        "reviews_Books_5.json.gz:2": SENTENCES[2:],
    }


def test_a_book_is_a_document(tmp_path: Path) -> None:
    for name in ("a.txt", "deep/b.txt"):
        written(tmp_path / "books" / name, "\n\n".join(PARAGRAPHS).encode())
    found = sentences_of(task_of(tmp_path, source="bookcorpus", paths=str(tmp_path / "books")))
    assert found == {"a.txt": SENTENCES, "deep/b.txt": SENTENCES}


def test_the_books_of_sentences_have_one_a_line(tmp_path: Path) -> None:
    written(tmp_path / "books_large_p1.txt", b"the river rose .\nnobody slept .\n")
    given = {"source": "bookcorpus", "paths": str(tmp_path / "books_large_p*.txt")}
    found = sentences_of(task_of(tmp_path, paragraphs="line", **given))
    assert found["books_large_p1.txt"] == ["the river rose .", "nobody slept ."]


@pytest.mark.slow
def test_a_run_tells_of_text_that_was_not_readable(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="luigi-interface")
    whole = gzip.compress(b"The river rose.\n\nNobody slept.\n" * 2_000)
    path = written(tmp_path / "a.txt.gz", whole[:-20])

    found = sentences_of(task_of(tmp_path, source="files", paths=str(path)))

    assert sum(map(len, found.values())) > 10
    assert "text was refused (damaged_file 1): `treeviews inspect" in caplog.text


@pytest.mark.slow
def test_a_data_set_is_fetched_and_read(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="the extra corpora is not installed")
    folder = tmp_path / "stories"
    folder.mkdir()
    table = pa.table({"story": [*PARAGRAPHS, None]})
    pq.write_table(table, folder / "train.parquet")

    task = task_of(tmp_path, source="hf", dataset=str(folder), text_field="story")

    assert sentences_of(task) == {
        "00000.jsonl.gz:1": SENTENCES[:2],
        "00000.jsonl.gz:2": SENTENCES[2:],
    }
    (quarantined,) = (task.folder).glob("*quarantine*")
    assert "missing_text" in quarantined.read_text()


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"source": "umbc"}, r"source is 'umbc': give either --paths .* or --url and --sha256"),
        (
            {"source": "umbc", "paths": "a.tar", "url": "http://127.0.0.1/a", "sha256": "0" * 64},
            "source is 'umbc': give either --paths",
        ),
        (
            {"source": "umbc", "dataset": "owner/name"},
            "dataset is 'owner/name': give --source hf together with --dataset",
        ),
        ({"source": "hf"}, "give --source hf together with --dataset"),
        ({"source": "hf", "dataset": "owner/name"}, "not the 40 digits of a commit"),
        (
            {"source": "umbc", "paths": "a.tar", "paragraphs": "blank-line"},
            "source is 'umbc', of which paragraphs is 'line', and paragraphs is 'blank-line'",
        ),
        (
            {"source": "amazon-books", "paths": "a.json", "text_field": "text"},
            "of which text_field is 'reviewText', and text_field is 'text': leave it out",
        ),
        (
            {"source": "bookcorpus", "paths": "a", "text_format": "csv"},
            "of which format is 'text', and format is 'csv'",
        ),
        ({"source": "amazon-books", "url": "http://127.0.0.1/a.gz"}, "64 hexadecimal digits"),
    ],
)
def test_contradictions_are_told_in_one_sentence(
    parameters: dict[str, str], said: str, tmp_path: Path
) -> None:
    task = task_of(tmp_path, **parameters)
    with pytest.raises(ValueError, match=said):
        task.requires()
        task.content()


FILES = {"source": "files", "paths": "a.txt"}
DATASET = {"source": "hf", "dataset": ".", "text_field": "story"}


@pytest.mark.parametrize(
    ("given", "name", "value", "remedy"),
    [
        (FILES, "sha256", "0" * 64, "--source url .* with --url"),
        (FILES, "dataset_split", "test", "--source hf"),
        ({"source": "umbc", "paths": "a.tar"}, "sha256", "0" * 64, "--source url .* with --url"),
        ({"source": "bookcorpus", "paths": "a.txt"}, "text_field", "body", "--source files"),
        (DATASET, "encoding", "latin-1", "--source files"),
        ({}, "encoding", "latin-1", "--source files"),
        ({}, "paragraphs", "line", "--source files"),
    ],
)
def test_a_parameter_that_the_source_does_not_read_is_refused(
    given: dict[str, str], name: str, value: str, remedy: str, tmp_path: Path
) -> None:
    source = given.get("source", "python-docs")
    task = task_of(tmp_path, **given, **{name: value})
    said = rf"^{name} is '{value}', and source is '{source}'.*: leave --.* out, or "
    with pytest.raises(ValueError, match=said + "give " + remedy):
        task.requires()


def test_parameters_that_the_source_reads_are_taken(tmp_path: Path) -> None:
    text = {"encoding": "latin-1", "paragraphs": "line", "text_format": "csv", "text_field": "body"}
    url = {"url": "http://127.0.0.1/a.gz", "sha256": "0" * 64}
    for given in (
        FILES | text,
        url | text | {"source": "url"},
        url | {"source": "umbc", "encoding": "latin-1", "text_format": "tar"},
        url | {"source": "bookcorpus", "paragraphs": "line"},
        DATASET | {"dataset_split": "test", "dataset_config": "english", "paragraphs": "line"},
    ):
        task_of(tmp_path, **given).requires()
