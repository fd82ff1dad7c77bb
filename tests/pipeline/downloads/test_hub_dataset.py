"""Data sets of a hub, streamed by the library from a folder, as files of JSON lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treeviews.pipeline.downloads import hub_dataset
from treeviews.pipeline.downloads.hub_dataset import (
    DATASET_FILE,
    TEXT_FOLDER,
    FetchJob,
    HubDataset,
    execute,
)

pytest.importorskip("datasets", reason="the extra corpora is not installed")


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data set of two splits, one of them in three files; one row has no text."""
    folder = tmp_path / "stories"
    folder.mkdir()
    for number in range(3):
        texts = [f"Story {number}, row {row}." for row in range(40)]
        table = pa.table({"id": list(range(40)), "story": [*texts[:-1], None]})
        pq.write_table(table, folder / f"train-{number}-of-3.parquet", row_group_size=7)
    pq.write_table(pa.table({"id": [1], "story": ["One."]}), folder / "test.parquet")
    return folder


def job_of(folder: Path, out: Path, **changes: Any) -> FetchJob:
    dataset = {"name": str(folder), "text_field": "story", **changes}
    return FetchJob(dataset=HubDataset.from_dict(dataset), out=out)


def fetch(job: FetchJob) -> list[list[str | None]]:
    """Fetches a data set; returns the texts of each file."""
    execute(job, lambda fraction, status: None)
    assert (job.out / DATASET_FILE).is_file()
    paths = sorted((job.out / TEXT_FOLDER).iterdir())
    lines = [gzip.decompress(path.read_bytes()).splitlines() for path in paths]
    return [[json.loads(line)["text"] for line in lines] for lines in lines]


@pytest.mark.parametrize("whole_files", [0, 1, 2])
def test_a_fetch_that_was_killed_goes_on_with_the_first_file_that_is_missing(
    whole_files: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(folder, tmp_path / "out")
    write, written = hub_dataset._write, []

    def killed(rows: Any, number: int, dataset: HubDataset, path: Path) -> None:
        write(rows, number, dataset, path)
        if len(written) == whole_files:
            raise KeyboardInterrupt
        written.append(number)

    monkeypatch.setattr(hub_dataset, "_write", killed)
    with pytest.raises(KeyboardInterrupt):
        fetch(job)
    (job.out / TEXT_FOLDER / "00000.jsonl.gz.tmp").write_bytes(b"half")
    whole_files = 3  # nothing is killed any more

    texts = fetch(job)

    assert texts == [[*(f"Story {n}, row {r}." for r in range(39)), None] for n in range(3)]
    assert written == [0, 1, 2]  # none of them twice


OTHER = {"name": "owner/stories"}


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"split": "dev"}, ValueError, r"cannot be opened \(ValueError: Bad split: dev"),
        ({"config": "other"}, ValueError, "cannot be opened .*'other' not found"),
        ({"text_field": "text"}, ValueError, "no column 'text'; set text_field to .*: id, story"),
        ({"revision": "1" * 40}, ValueError, "a folder has no revision"),
        ({"name": ""}, ValueError, "needs its name"),
        ({**OTHER, "revision": "main"}, ValueError, "revision is 'main', not the 40 digits"),
        ({**OTHER, "revision": "1" * 40}, OSError, r"cannot be opened.*the connection"),
    ],
)
def test_mistakes_are_told_in_one_sentence(
    changes: dict[str, str], error: type[Exception], said: str, folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(error, match=said):
        fetch(job_of(folder, tmp_path / "out", **changes))
    assert not (tmp_path / "out" / DATASET_FILE).exists()


def test_a_file_that_breaks_off_is_told(folder: Path, tmp_path: Path) -> None:
    (folder / "train-2-of-3.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(OSError, match=r"broke off in file 3 of 3 \(.*\); whole files are kept"):
        fetch(job_of(folder, tmp_path / "out"))


def test_the_same_text_has_the_same_bytes_whenever_it_is_fetched(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = []
    for name, now in (("out", 1e9), ("again", 2e9)):
        monkeypatch.setattr(gzip.time, "time", lambda now=now: now)
        fetch(job_of(folder, tmp_path / name))
        contents.append([path.read_bytes() for path in (tmp_path / name / TEXT_FOLDER).iterdir()])
    assert sorted(contents[0]) == sorted(contents[1])
