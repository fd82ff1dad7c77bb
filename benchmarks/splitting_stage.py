"""Measures the stage that splits a corpus, as users start it: with one worker, then with two."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.report import Table, tell
from benchmarks.timed_command import Taken, timed
from pipeline.base.digest import sha256_of_file
from pipeline.shards.manifests import (
    MANIFEST_NAME,
    quarantine_path,
    read_dataset_manifest,
    shard_path,
)
from pipeline.sources.files import TextFiles
from pipeline.sources.plan import plan_of

WORKERS = {"one worker": 1, "two workers": 2}


@dataclass(frozen=True, slots=True)
class StageRun:
    """What a run of the stage took and made."""

    name: str
    taken: Taken
    sentences: int
    shards: int
    jobs: int
    """Processes that the shards were given to; no more workers than these are of use."""
    drops: Mapping[str, int]
    """Number of sentences refused, by reason."""
    files: Mapping[str, str]
    """Rows and quarantine: a file's name -> its sha256."""
    survey_megabytes: float = 0.0
    """Of text, a second of processor time, until its checksums and its parts were known."""


def measure_stage(paths: Sequence[str]) -> list[StageRun]:
    """Returns what the stage takes with one worker and with two, each in a fresh work folder.

    The text is read once before, so that both find it in the system's cache.

    Args:
        paths: files or folders of text.

    Raises:
        FileNotFoundError: there is no such path.
        ValueError: a path holds no text or cannot be given to the stage.
        RuntimeError: Luigi failed, or the two runs did not make the same.
    """
    if wrong := next((path for path in paths if "," in path), ""):
        raise ValueError(f"{wrong}: the stage takes paths separated by commas; rename this one")
    rate = survey_megabytes(paths)
    runs = []
    for name in WORKERS:
        tell(f"measuring the stage with {name}")
        with tempfile.TemporaryDirectory() as work:
            runs.append(replace(_run(name, paths, Path(work)), survey_megabytes=rate))
    check_same(*runs)
    return runs


def survey_megabytes(paths: Sequence[str]) -> float:
    """Returns how fast one core finds what parts a text has, as the stage does first."""
    started = time.process_time()
    plan = plan_of(TextFiles(paths))
    seconds = time.process_time() - started
    return sum(part.num_bytes for part in plan.parts) / 1e6 / max(seconds, 1e-9)


def _run(name: str, paths: Sequence[str], work: Path) -> StageRun:
    command = [sys.executable, "-m", "luigi", "--module", "tasks", "SplitSentences"]
    command += ["--local-scheduler", "--workers", str(WORKERS[name]), "--source", "files"]
    command += ["--paths", ",".join(str(Path(path).absolute()) for path in paths)]
    taken = timed([*command, "--work-folder", str(work)])
    (stage,) = (path.parent for path in work.glob(f"corpora/*/sentences/{MANIFEST_NAME}"))
    made = read_dataset_manifest(stage, "sentences")
    files = [
        path_of(stage, shard.number)
        for shard in made.shards
        for path_of in (shard_path, quarantine_path)
    ]
    digests = {path.name: sha256_of_file(path) for path in files}
    jobs = len(list((stage / "jobs").glob("*.json")))
    return StageRun(name, taken, made.rows, len(made.shards), jobs, made.drops, digests)


def check_same(one: StageRun, two: StageRun) -> None:
    """Compares what two runs made.

    Raises:
        RuntimeError: they differ; names the first file that does.
    """
    for name in sorted(one.files.keys() | two.files.keys()):
        for run, other in ((one, two), (two, one)):
            if name not in run.files:
                raise RuntimeError(f"{name}: made with {other.name}, but not with {run.name}")
        if one.files[name] != two.files[name]:
            raise RuntimeError(f"{name}: {one.name} and {two.name} made other bytes")
    if one.drops != two.drops:
        raise RuntimeError(
            f"{MANIFEST_NAME}: {one.name} counted the drops {dict(one.drops)}, "
            f"{two.name} {dict(two.drops)}"
        )


def stage_table(runs: Sequence[StageRun]) -> Table:
    """Returns the table of both runs."""
    columns = (
        *("workers", "seconds", "CPU seconds", "largest process (MiB)"),
        *("sentences", "shards", "jobs", "sentences/s", "sentences/CPU s"),
    )
    rows = [
        [
            run.name,
            f"{run.taken.wall_seconds:.1f}",
            f"{run.taken.cpu_seconds:.1f}",
            f"{_mib(run):,.0f}",
            f"{run.sentences:,}",
            f"{run.shards:,}",
            f"{run.jobs:,}",
            f"{run.sentences / run.taken.wall_seconds:,.0f}",
            f"{run.sentences / run.taken.cpu_seconds:,.0f}",
        ]
        for run in runs
    ]
    drops = ", ".join(f"{number:,} {reason}" for reason, number in runs[0].drops.items())
    notes = [
        "the command luigi --module tasks SplitSentences from its start to its end, each time into "
        "a fresh work folder; the text was read once before",
        "CPU seconds: of Luigi and all processes that it starts; largest process: the most memory "
        "that one of them had resident",
        f"both made the same bytes in all {len(runs[0].files):,} files of rows and of what was "
        "refused",
        f"refused by both: {drops or 'nothing'}",
        f"one core finds the parts of the text at {runs[0].survey_megabytes:,.0f} MB a second of "
        "processor time; these seconds are part of both runs",
    ]
    if runs[0].jobs < max(WORKERS.values()):
        notes.append("the text is too short for two jobs, so that the second worker had nothing")
    return Table("Splitting by one and by two workers", columns, rows, notes)


def stage_figures(runs: Sequence[StageRun]) -> dict[str, Any]:
    """Returns the figures of both runs for the last line; each is None where there are no runs."""
    of_both = (
        *("two_processes_vs_one", "stage_sentences", "shards", "jobs", "drops"),
        "survey_megabytes_per_second",
    )
    of_each = [
        f"{name.replace(' ', '_')}_{what}"
        for name in WORKERS
        for what in ("seconds", "cpu_seconds", "peak_mib")
    ]
    if not runs:
        return dict.fromkeys([*of_both, *of_each])
    one, two = runs
    is_shared = one.jobs >= max(WORKERS.values())
    ratio = round(one.taken.wall_seconds / two.taken.wall_seconds, 3) if is_shared else None
    survey = round(one.survey_megabytes, 1)
    same = (ratio, one.sentences, one.shards, one.jobs, dict(one.drops), survey)
    each = [
        round(figure, 2)
        for run in runs
        for figure in (run.taken.wall_seconds, run.taken.cpu_seconds, _mib(run))
    ]
    return dict(zip([*of_both, *of_each], [*same, *each], strict=True))


def _mib(run: StageRun) -> float:
    return run.taken.peak_bytes / (1 << 20)
