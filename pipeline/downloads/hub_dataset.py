"""Fetches a data set of the hub as files of JSON lines: ``python -m …hub_dataset JOB.json``.

JOB.json holds a `FetchJob`. Every file of the data set becomes one of its column of text alone,
which appears whole or not at all: a fetch that was killed goes on with the first that is missing.
Rows without text are written, too, so that whoever reads the files refuses them by number.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from treeviews.pipeline.base.atomic_files import write_by_library, write_json_atomically
from treeviews.pipeline.base.bundled import how_to_install
from treeviews.pipeline.base.digest import remembered_sha256
from treeviews.pipeline.base.foreign_text import told
from treeviews.pipeline.base.job import Progress, run_from_command_line
from treeviews.pipeline.base.settings import Option, Settings

DATASET_FILE = "dataset.json"
"""Says what was fetched; written last."""
TEXT_FOLDER = "text"
"""Holds the files, and nothing else."""
_SHOWN_CHARACTERS = 200


class HubDataset(Settings):
    """Which column of which data set."""

    called: ClassVar[str] = "data set setting"

    name: Annotated[str, Option("dataset")] = ""
    """Data set for source=hf: owner/name on the hub, or a folder."""
    config: Annotated[str, Option("dataset_config")] = ""
    """Configuration of the data set, if it has several."""
    split: Annotated[str, Option("dataset_split")] = "train"
    """Split of the data set."""
    text_field: str = "text"
    revision: Annotated[str, Option("dataset_revision")] = ""
    """Commit of the data set on the hub (40 hexadecimal digits), which pins the text."""

    def _check_together(self) -> None:
        if not self.name:
            raise ValueError("a data set needs its name: owner/name on the hub, or a folder")
        if self.folder and self.revision:
            raise ValueError(f"{told(self.name)}: a folder has no revision; leave it out")
        if not self.folder and not re.fullmatch(r"[0-9a-f]{40}", self.revision):
            raise ValueError(
                f"data set {told(self.name)}: revision is {self.revision!r}, not the 40 digits of "
                "a commit, and no folder has this name; take the commit from the data set's page "
                "on the hub (Files, History), so that the text stays the same"
            )

    @property
    def folder(self) -> Path | None:
        """The folder of this machine that holds it, if one does."""
        folder = Path(self.name).expanduser()
        return folder if folder.is_dir() else None

    def describe(self) -> dict[str, Any]:
        """Returns everything that determines the text; of a folder, its files' checksum."""
        if not self.folder:
            return self.to_dict()
        digest = hashlib.sha256()
        for path in sorted(path for path in self.folder.rglob("*") if path.is_file()):
            name = path.relative_to(self.folder).as_posix().encode("utf-8", "surrogateescape")
            digest.update(name + b"\0" + remembered_sha256(path).encode() + b"\0")
        return self.to_dict() | {"name": digest.hexdigest()}


class FetchJob(Settings):
    """What is fetched, and where it goes."""

    called: ClassVar[str] = "fetch job field"

    dataset: HubDataset
    out: Path
    """Folder of the result."""


def execute(job: FetchJob, progress: Progress) -> None:
    """Fetches as a job says, going on where an earlier one was killed.

    Raises:
        ModuleNotFoundError: datasets is not installed.
        ValueError: no such data set, config, split or column; or it changed meanwhile.
        OSError: the data set cannot be read on; the files that are whole are kept.
    """
    dataset, folder = job.dataset, job.out / TEXT_FOLDER
    described = dataset.describe()
    rows, version = _open(dataset)
    paths = [folder / f"{n:05d}-of-{rows.num_shards:05d}.jsonl.gz" for n in range(rows.num_shards)]
    folder.mkdir(parents=True, exist_ok=True)
    for path in set(folder.iterdir()) - set(paths):  # what a kill left
        path.unlink()
    for number, path in enumerate(paths):
        if not path.exists():
            try:
                write_by_library(path, partial(_write, rows, number, dataset))
            except Exception as error:
                raise OSError(
                    f"data set {told(dataset.name)}: broke off in file {number + 1} of "
                    f"{len(paths)} ({_short(error)}); whole files are kept: run it again to go on, "
                    "or mend the data set"
                ) from error
        progress((number + 1) / len(paths), f"{number + 1} of {len(paths)} files")
    if dataset.describe() != described:
        raise ValueError(
            f"{told(dataset.name)}: changed while it was read; delete {job.out} and start the run "
            "again when nobody writes to it"
        )
    facts = {"files": len(paths), "datasets": version}
    write_json_atomically(job.out / DATASET_FILE, described | facts)


def _open(dataset: HubDataset) -> tuple[Any, str]:
    """Returns the rows, of which the first alone is fetched, and the version of the library."""
    try:
        import datasets
    except ImportError as error:
        raise ModuleNotFoundError(
            f"data sets of the hub are read by datasets: {how_to_install('corpora')}"
        ) from error
    datasets.disable_progress_bars()
    try:
        rows = datasets.load_dataset(
            str(dataset.folder or dataset.name),
            dataset.config or None,
            split=dataset.split,
            revision=dataset.revision or None,
            streaming=True,
        )
        first = next(iter(rows), None)
    except Exception as error:
        kind = ValueError if isinstance(error, ValueError | FileNotFoundError) else OSError
        raise kind(
            f"data set {told(dataset.name)} cannot be opened ({_short(error)}); check its name, "
            "config, split and revision, and the connection"
        ) from error
    if first is None:
        raise ValueError(f"data set {told(dataset.name)}: no rows; choose another split")
    if dataset.text_field not in first:
        raise ValueError(
            f"data set {told(dataset.name)}: no column {dataset.text_field!r}; set text_field "
            f"to the one that holds the text: {told(', '.join(first))[:_SHOWN_CHARACTERS]}"
        )
    is_known = dataset.text_field in (rows.column_names or ())
    return rows.select_columns([dataset.text_field]) if is_known else rows, datasets.__version__


def _write(rows: Any, number: int, dataset: HubDataset, path: Path) -> None:
    """Writes the text of every row of a file, null where there is none."""
    with (
        path.open("wb") as stream,  # neither time nor name: the same text has the same bytes
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8") as lines,
    ):
        for row in rows.shard(rows.num_shards, number):
            text = row.get(dataset.text_field)
            lines.write(json.dumps({"text": text if isinstance(text, str) else None}) + "\n")


def _short(error: Exception) -> str:
    return told(" ".join(f"{type(error).__name__}: {error}".split()))[:_SHOWN_CHARACTERS]


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute, kind=FetchJob))
