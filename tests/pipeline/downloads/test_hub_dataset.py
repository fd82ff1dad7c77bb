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
        table = pa.table({"id": list(range(40)), "story": texts})
        pq.write_table(table, folder / f"train-{number}-of-3.parquet", row_group_size=7)
    pq.write_table(pa.table({"id": [1, 2], "story": ["One.", None]}), folder / "test.parquet")
    return folder


def job_of(folder: Path, out: Path, bytes_per_file: int = 1000, **changes: Any) -> FetchJob:
    dataset = {"name": str(folder), "text_field": "story", **changes}
    return FetchJob(dataset=HubDataset.from_dict(dataset), out=out, bytes_per_file=bytes_per_file)


def files_of(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((out / TEXT_FOLDER).iterdir())}


def texts_of(out: Path) -> list[str | None]:
    content = b"".join(map(gzip.decompress, files_of(out).values()))
    return [json.loads(line)["text"] for line in content.splitlines()]


def fetch(job: FetchJob) -> list[str]:
    said: list[str] = []
    execute(job, lambda fraction, status: said.append(status))
    return said


def test_a_data_set_becomes_files_of_bounded_size(folder: Path, tmp_path: Path) -> None:
    said = fetch(job_of(folder, tmp_path / "out"))
    expected = [f"Story {n}, row {r}." for n in range(3) for r in range(40)]
    assert texts_of(tmp_path / "out") == expected
    sizes = [len(gzip.decompress(content)) for content in files_of(tmp_path / "out").values()]
    assert len(sizes) == len(said) > 3 and max(sizes) < 1100
    facts = json.loads((tmp_path / "out" / DATASET_FILE).read_text())
    assert facts["rows"] == 120 and facts["split"] == "train"


def test_a_later_row_without_the_column_has_no_text(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    rows = [{"story": "One."}, {"id": 2}, {"id": 3, "story": "Three."}]
    opened = datasets.IterableDataset.from_generator(lambda: iter(rows))
    monkeypatch.setattr(hub_dataset, "_open", lambda load_dataset, dataset: opened)
    fetch(job_of(folder, tmp_path / "out"))
    assert texts_of(tmp_path / "out") == ["One.", None, "Three."]


@pytest.mark.parametrize("whole_files", [0, 1, 3])
def test_a_fetch_that_was_killed_goes_on_behind_its_last_file(
    whole_files: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch(job_of(folder, tmp_path / "at-once"))
    write = hub_dataset.write_json_atomically
    written: list[Path] = []

    def killed(path: Path, value: Any) -> None:
        if len(written) == whole_files:
            raise KeyboardInterrupt
        written.append(path)
        write(path, value)

    monkeypatch.setattr(hub_dataset, "write_json_atomically", killed)
    with pytest.raises(KeyboardInterrupt):
        fetch(job_of(folder, tmp_path / "out"))
    monkeypatch.setattr(hub_dataset, "write_json_atomically", write)

    said = fetch(job_of(folder, tmp_path / "out"))

    assert files_of(tmp_path / "out") == files_of(tmp_path / "at-once")
    assert len(said) == len(files_of(tmp_path / "out")) - whole_files
    assert fetch(job_of(folder, tmp_path / "out")) == []


OTHER = {"name": "owner/stories"}


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"split": "dev"}, ValueError, r"cannot be opened \(ValueError: Bad split: dev"),
        ({"config": "other"}, ValueError, "cannot be opened .*'other' not found"),
        ({"text_field": "text"}, ValueError, "no column 'text'; set text_field to .*: id, story"),
        ({"revision": "1" * 40}, ValueError, "a folder has no revision"),
        ({"name": ""}, ValueError, "needs its name"),
        (OTHER, ValueError, "revision is '', not the 40 digits of a commit"),
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
