"""The stage that downloads and splits a text: its sources, its jobs, kills and limits."""

from __future__ import annotations

import gzip
import hashlib
import io
import logging
import tarfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from luigi.task_register import load_task

from tests.support.download_server import serving
from tests.support.luigi_builds import build
from treeviews.pipeline.shards.manifests import read_dataset_manifest, shard_numbers, shard_path
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.text import plan, split_corpus
from treeviews.pipeline.text.find_duplicates import duplicates_of
from treeviews.pipeline.text.split_parts import DUPLICATES_FOLDER
from treeviews.tasks import DownloadCorpus, SplitSentences, artefact

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


def task_of(folder: Path, **parameters: Any) -> SplitSentences:
    return SplitSentences(work_folder=folder / "work", **parameters)


REVIEWS = "".join(f'{{"reviewText": "{text}"}}\n' for text in PARAGRAPHS)
LAYOUTS: dict[str, tuple[dict[str, str], str, Any]] = {
    "reviews.json": (
        {"source": "amazon-books"},
        REVIEWS,
        {"reviews.json:1": SENTENCES[:2], "reviews.json:2": SENTENCES[2:]},
    ),
    "deep/b.txt": ({"source": "bookcorpus"}, "\n\n".join(PARAGRAPHS), {"deep/b.txt": SENTENCES}),
    "books_large_p1.txt": (
        {"source": "bookcorpus", "paragraphs": "line"},
        "the river rose .\nnobody slept .\n",
        {"books_large_p1.txt": ["the river rose .", "nobody slept ."]},
    ),
}
"""A file -> what is asked, its content, and the sentences of each of its documents."""


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_published_corpus_is_read_by_its_layout(name: str, tmp_path: Path) -> None:
    asked, content, expected = LAYOUTS[name]
    path = tmp_path / "given" / name
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    (tmp_path / "given" / "a").mkdir()
    (tmp_path / "given" / "a" / "other.txt").write_text("Rain.", encoding="utf-8")
    paths = str(path) if asked["source"] == "amazon-books" else str(tmp_path / "given")
    assert sentences_of(task_of(tmp_path, paths=paths, **asked)).items() >= expected.items()


@pytest.fixture
def address() -> Iterator[str]:
    """Where half of the archive comes first, and the rest to whoever asks for it by range."""
    archive = umbc_archive()
    with serving({"umbc_corpus.tar.gz": archive}) as server:
        server.scripts["umbc_corpus.tar.gz"] = [f"cut:{len(archive) // 2}"]
        yield f"{server.address}/umbc_corpus.tar.gz"


def test_a_corpus_behind_an_address_is_downloaded_and_split(address: str, tmp_path: Path) -> None:
    """The UMBC archive, without its tagged copies."""
    sha256 = hashlib.sha256(umbc_archive()).hexdigest()
    found = sentences_of(task_of(tmp_path, source="umbc", url=address, sha256=sha256))
    assert [*found.values()] == [SENTENCES, ["Another file .", "It is short ."]]


@pytest.mark.parametrize("ending", ["", ".bz2"])
def test_wrong_bytes_and_a_missing_file_leave_no_corpus(
    ending: str, address: str, tmp_path: Path
) -> None:
    task = DownloadCorpus(url=address + ending, sha256="0" * 64, work_folder=tmp_path)
    assert not build(task)
    assert not Path(task.output().path).exists()


def test_another_token_or_login_is_the_same_corpus_and_stands_nowhere(tmp_path: Path) -> None:
    url = "https://user:hunter2@host/river.txt?token="
    first, second = (
        task_of(tmp_path, source="url", sha256="0" * 64, url=f"{url}{token}")
        for token in ("abc1", "abc2")
    )
    assert first.folder == second.folder
    assert first.requires()[0].output().path == second.requires()[0].output().path
    first.write_config()
    told = [str(first), first.task_id, first.corpus_in_words(), str(first.to_str_params())]
    told += [first.on_failure(ValueError(f"cannot open {first.url}"))]
    told += [path.read_text() for path in tmp_path.rglob("config.json")]
    assert "token=***" in told[-1]
    assert not any(secret in said for said in told for secret in ("abc1", "hunter2"))
    again = load_task("tasks", "SplitSentences", first.to_str_params())
    assert again.url == first.url
    assert again.param_kwargs == first.param_kwargs


def test_a_run_tells_of_text_that_was_not_readable(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="luigi-interface")
    whole = gzip.compress(b"The river rose.\n\nNobody slept.\n" * 2_000)
    (tmp_path / "a.txt.gz").write_bytes(whole[:-20])

    found = sentences_of(task_of(tmp_path, source="files", paths=str(tmp_path / "a.txt.gz")))

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

    name = "00000-of-00001.jsonl.gz"
    assert sentences_of(task) == {f"{name}:1": SENTENCES[:2], f"{name}:2": SENTENCES[2:]}
    (quarantined,) = (task.folder).glob("*quarantine*")
    assert "missing_text" in quarantined.read_text()


NAMES = ("Ada", "Ben", "Cem", "Dov", "Eva", "Fay", "Gus", "Hal")


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of 16 documents, of which two make a part and four a job."""
    monkeypatch.setattr(plan, "_target", lambda number: 400)
    monkeypatch.setattr(split_corpus, "JOB_BYTES", 1_500)
    folder = tmp_path / "text"
    folder.mkdir()
    for number in range(16):
        lines = [f"{NAMES[(number + n) % 8]} saw {number} boats on day {n}.\n" for n in range(10)]
        (folder / f"{number:02d}.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def stage(text: Path, folder: Path, **parameters: Any) -> SplitSentences:
    return task_of(folder, source="files", paths=str(text), **parameters)


def shards(folder: Path) -> list[bytes]:
    return [shard_path(folder, number).read_bytes() for number in shard_numbers(folder)]


def in_one_job(text: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Returns the shards that one job makes of all parts."""
    with monkeypatch.context() as patch:
        patch.setattr(split_corpus, "JOB_BYTES", 1 << 30)
        whole = stage(text, work)
        assert build(whole)
    assert len(list((whole.folder / "jobs").glob("*.json"))) == 1
    return shards(whole.folder)


@pytest.mark.slow
def test_a_run_goes_on_where_a_job_was_killed(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = stage(text, tmp_path / "killed")
    run, calls = artefact.run_job_process, count()

    def killed(*arguments: Any, **named: Any) -> None:
        if next(calls):
            raise RuntimeError("killed")
        run(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(artefact, "run_job_process", killed)
        assert not build(first)
    made = shards(first.folder)
    assert 0 < len(made) < 10
    assert not first.complete()
    assert build(stage(text, tmp_path / "killed"))
    assert set(made) <= set(shards(first.folder))
    assert shards(first.folder) == in_one_job(text, tmp_path / "one", monkeypatch)


SENTENCE = "The ferry crossed the bay twice a day and nobody remembered a year without it."
GULLS = "Gulls followed the boat out, and cried above the wake that it left in the grey water."


def test_duplicates_are_found_by_jobs_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treeviews.pipeline.text.plan.rows_in_shard", lambda number: 1)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt").write_text(f"{SENTENCE}\n\n{GULLS}")
    (tmp_path / "text" / "b.txt").write_text(f"{GULLS} Boys threw bread.\n\n{SENTENCE}")
    task = stage(tmp_path / "text", tmp_path, cleaning_changes={"duplicates": "exact"})
    assert build(task)
    folder = task.folder / DUPLICATES_FOLDER
    found = [duplicates_of(folder, number) for number in range(2)]
    assert [{item: why.reason for item, why in part.items()} for part in found] == [
        {},
        {1: "exact_duplicate"},
    ]
    stamps = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    (task.folder / task.marker).unlink()
    assert build(task)
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
