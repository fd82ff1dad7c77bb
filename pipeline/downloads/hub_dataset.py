"""Fetches a data set of the hub as files of JSON lines: ``python -m …hub_dataset JOB.json``.

JOB.json holds a `FetchJob`. The data set is streamed by `datasets` and only its column of text is
kept, in compressed files of bounded size, each of which appears whole or not at all and notes where
in the data set it ends: a fetch that was killed goes on behind its last file. Rows without text are
written, too, so that whoever reads the files refuses them by number.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

from treeviews.pipeline.base.atomic_files import (
    sweep_unfinished,
    write_bytes_atomically,
    write_json_atomically,
)
from treeviews.pipeline.base.bundled import how_to_install
from treeviews.pipeline.base.digest import remembered_sha256
from treeviews.pipeline.base.foreign_text import told
from treeviews.pipeline.base.job import Progress, run_job_from_command_line
from treeviews.pipeline.base.json_files import read_json
from treeviews.pipeline.base.settings import Count, Option, Settings

DATASET_FILE = "dataset.json"
"""Says what was fetched; written last."""
TEXT_FOLDER = "text"
"""Holds the files, and nothing else."""
TEXT_FIELD = "text"
"""Of the lines that are written."""
_NOTES_FOLDER = "notes"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHOWN_CHARACTERS = 200


class HubDataset(Settings):
    """Which column of which data set."""

    called: ClassVar[str] = "data set setting"

    name: Annotated[str, Option("dataset")] = ""
    """Its name on the hub, owner/name, or a folder that holds it."""
    config: Annotated[str, Option("dataset_config")] = ""
    """Its configuration, of several."""
    split: Annotated[str, Option("dataset_split")] = "train"
    """Its split."""
    text_field: str = "text"
    revision: Annotated[str, Option("dataset_revision")] = ""
    """The commit of a data set of the hub, 40 digits, so that the text stays the same."""

    def _check_together(self) -> None:
        if not self.name:
            raise ValueError("a data set needs its name: owner/name on the hub, or a folder")
        if self.is_local and self.revision:
            raise ValueError(f"{told(self.name)}: a folder has no revision; leave it out")
        if not self.is_local and not _COMMIT.fullmatch(self.revision):
            raise ValueError(
                f"data set {told(self.name)}: revision is {self.revision!r}, not the 40 digits of "
                "a commit, and no folder has this name; take the commit from the data set's page "
                "on the hub (Files, History), so that the text stays the same"
            )

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine."""
        return Path(self.name).expanduser().is_dir()

    def describe(self) -> dict[str, Any]:
        """Returns everything that determines the text; of a folder, its files' checksum."""
        described = self.to_dict()
        if self.is_local:
            described["name"] = _sha256_of_folder(Path(self.name).expanduser())
        return described


class FetchJob(Settings):
    """What is fetched, and where it goes."""

    called: ClassVar[str] = "fetch job field"

    dataset: HubDataset
    out: Path
    """Folder of the result."""
    bytes_per_file: Count = 16 << 20
    """Of text; the last row may exceed it."""


def execute(job: FetchJob, progress: Progress) -> None:
    """Fetches as a job says, going on where an earlier one was killed.

    Raises:
        ModuleNotFoundError: datasets is not installed.
        ValueError: no such data set, config, split or column; or it changed meanwhile.
        OSError: the data set cannot be read on; what was fetched is kept.
    """
    try:
        import datasets
    except ImportError as error:
        raise ModuleNotFoundError(
            f"data sets of the hub are read by datasets: {how_to_install('corpora')}"
        ) from error
    datasets.disable_progress_bars()
    if (job.out / DATASET_FILE).exists():
        return
    described = job.dataset.describe()
    for folder in (job.out / TEXT_FOLDER, job.out / _NOTES_FOLDER):
        folder.mkdir(parents=True, exist_ok=True)
        sweep_unfinished(folder)
    rows = _open(datasets.load_dataset, job.dataset)
    notes: list[dict[str, Any]] = []  # of the whole files, up to the first that is not there
    while (path := job.out / _NOTES_FOLDER / f"{len(notes):05d}.json").exists():
        notes.append(read_json(path, remedy="delete what was fetched and run the stage again"))
    if notes:
        rows.load_state_dict(notes[-1]["state"])
    num_rows = sum(note["rows"] for note in notes)
    texts = _texts(rows, job.dataset, num_rows)
    while lines := _next_lines(texts, job.bytes_per_file):
        content = gzip.compress(b"".join(lines), compresslevel=6, mtime=0)
        write_bytes_atomically(job.out / TEXT_FOLDER / f"{len(notes):05d}.jsonl.gz", content)
        notes.append({"rows": len(lines), "state": rows.state_dict()})
        write_json_atomically(job.out / _NOTES_FOLDER / f"{len(notes) - 1:05d}.json", notes[-1])
        num_rows += len(lines)
        progress(0.0, f"{num_rows:,} rows in {len(notes):,} files")
    if job.dataset.describe() != described:
        raise ValueError(
            f"{told(job.dataset.name)}: changed while it was read; delete {job.out} and start the "
            "run again when nobody writes to it"
        )
    if not num_rows:
        raise ValueError(f"data set {told(job.dataset.name)}: no rows; choose another split")
    facts = {"rows": num_rows, "files": len(notes), "datasets": datasets.__version__}
    write_json_atomically(job.out / DATASET_FILE, described | facts)


def _open(load_dataset: Callable[..., Any], dataset: HubDataset) -> Any:
    """Returns the rows, of which nothing is fetched yet."""
    try:
        rows = load_dataset(
            str(Path(dataset.name).expanduser()) if dataset.is_local else dataset.name,
            dataset.config or None,
            split=dataset.split,
            revision=dataset.revision or None,
            streaming=True,
        )
    except Exception as error:
        kind = ValueError if isinstance(error, ValueError | FileNotFoundError) else OSError
        raise kind(
            f"data set {told(dataset.name)} cannot be opened ({_short(error)}); check its name, "
            "config, split and revision, and the connection"
        ) from error
    is_known = dataset.text_field in (rows.column_names or ())
    return rows.select_columns([dataset.text_field]) if is_known else rows


def _texts(rows: Any, dataset: HubDataset, num_rows: int) -> Iterator[str | None]:
    """Yields the text of every row, None where there is none."""
    iterator = iter(rows)
    while True:
        try:
            row = next(iterator, None)
        except Exception as error:
            raise OSError(
                f"data set {told(dataset.name)}: broke off after row {num_rows:,} "
                f"({_short(error)}); whole files are kept: run it again to go on, or mend the row"
            ) from error
        if row is None:
            return
        if not num_rows and dataset.text_field not in row:
            raise ValueError(
                f"data set {told(dataset.name)}: no column {dataset.text_field!r}; set text_field "
                f"to the one that holds the text: {told(', '.join(row))[:_SHOWN_CHARACTERS]}"
            )
        num_rows += 1
        text = row.get(dataset.text_field)
        yield text if isinstance(text, str) else None


def _next_lines(texts: Iterator[str | None], num_bytes: int) -> list[bytes]:
    """Returns the lines of the next file; none at the end."""
    lines: list[bytes] = []
    while num_bytes > 0 and (text := next(texts, ...)) is not ...:
        lines.append(f"{json.dumps({TEXT_FIELD: text})}\n".encode())
        num_bytes -= len(lines[-1])
    return lines


def _sha256_of_folder(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix().encode("utf-8", "surrogateescape")
        digest.update(name + b"\0" + remembered_sha256(path).encode() + b"\0")
    return digest.hexdigest()


def _short(error: Exception) -> str:
    return told(" ".join(f"{type(error).__name__}: {error}".split()))[:_SHOWN_CHARACTERS]


if __name__ == "__main__":
    sys.exit(run_job_from_command_line(FetchJob, execute))
