"""What all tasks share: an output folder whose name holds a digest of what determines it."""

from __future__ import annotations

import functools
import logging
import multiprocessing
import secrets
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import luigi

from treeviews.models.listing import main_score
from treeviews.pipeline.base.atomic_files import (
    RUN_LOCK,
    held_locks,
    locked,
    sweep_unfinished,
    write_json_atomically,
)
from treeviews.pipeline.base.digest import digest_of, remembered_sha256
from treeviews.pipeline.base.foreign_text import told, values_without_secrets
from treeviews.pipeline.base.job import Rated, end_jobs, run_job_process
from treeviews.pipeline.base.job_server import jobs_at_once, start_job_server
from treeviews.pipeline.base.settings import Settings
from treeviews.pipeline.shards.manifests import ShardRange, read_shard_manifest, stands_whole
from treeviews.pipeline.shards.schema import SCHEMA_VERSION
from treeviews.tasks.checks import Check, CheckedTask, check_work_folder
from treeviews.tasks.run import report

logger = logging.getLogger("luigi-interface")

CONFIG_NAME = "config.json"
PLANNING_LOCK = "planning.lock"
"""File of a folder that a run holds while it finds out which jobs are left."""
RUN_ID = secrets.token_hex(4)
"""Of this process and those it forks."""


class ReportingTask(CheckedTask):
    """A task whose progress the Luigi page shows, and that is alone at what it writes.

    Its id names the run, so that a central scheduler takes the tasks of two runs for different
    ones: each run does its own, and of one folder whoever comes later waits at the folder's lock.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.task_id: str = f"{self.task_id}_{RUN_ID}"

    @classmethod
    @functools.cache
    def get_params(cls) -> list[tuple[str, luigi.Parameter]]:
        """Returns the parameters with their names, found once: one added later is not seen."""
        return list(super().get_params())

    def report_progress(self, fraction: float, status: str) -> None:
        """Shows how far the task is, on Luigi's page and where the run is shown."""
        self.set_status_message(status)
        self.set_progress_percentage(round(100 * fraction))
        report(self.task_id, fraction, status)

    def headline(self) -> list[str]:
        """Returns the sentences that a run ends with that asked for this: what came of it."""
        return []

    def deps(self) -> list[luigi.Task]:
        """Returns what Luigi schedules before this; starts the server of the run's jobs."""
        if multiprocessing.parent_process() is None:
            start_job_server()
        needed: list[luigi.Task] = super().deps()
        return needed

    def on_failure(self, exception: BaseException) -> str:
        """Returns what Luigi's page shows of an error: its traceback without secrets."""
        return told("".join(traceback.format_exception(exception)), keep_lines=True)

    def held(self, lock: Path, *, shared: bool = False) -> AbstractContextManager[object]:
        """Holds a lock for the time of a ``with`` block; says for whom it waits.

        Args:
            lock: its file, in the folder that it is of.
            shared: others may hold it shared at the same time.
        """

        def say() -> None:
            message = f"{lock.parent}: waiting for another run, which is at work there"
            logger.info(message)
            self.set_status_message(message)

        return locked(lock, say, shared=shared)

    @contextmanager
    def planning(self, folder: Path) -> Iterator[None]:
        """Finds out which jobs of a folder are left, one run after the other.

        While others are at them: who sweeps the folder holds its lock alone.
        """
        with self.held(folder / PLANNING_LOCK), self.held(folder / RUN_LOCK, shared=True):
            yield

    def share_jobs(
        self,
        folder: Path,
        module: str,
        job: Mapping[str, Any],
        ranges: Callable[[], Iterable[ShardRange]],
        is_made: Callable[[int], bool],
        verb: str,
    ) -> None:
        """Has jobs run until none is left, each by one of the runs that are at work in a folder.

        Args:
            folder: what the jobs fill.
            module: what runs as their processes.
            job: what every job reads beside the numbers of its shards.
            ranges: returns what there is to do, a range a job. Runs ask one after the other.
            is_made: says whether the shard of a number stands.
            verb: what is done to the shards, such as ``parsed``.

        Raises:
            JobFailedError: the error of the first that failed.
        """
        while True:
            with self.planning(folder):
                left = [shards for shards in ranges() if not all(map(is_made, shards.numbers))]
            if not left:
                return
            with self.held(folder / RUN_LOCK, shared=True):
                self._run_side_by_side(folder / "jobs", module, job, left, is_made, verb)

    def _run_side_by_side(
        self,
        folder: Path,
        module: str,
        job: Mapping[str, Any],
        ranges: Sequence[ShardRange],
        is_made: Callable[[int], bool],
        verb: str,
    ) -> None:
        """Runs jobs, as many at a time as the run has workers, on a thread each.

        One that fails ends none of the others that have begun: what they make is kept.

        Args:
            folder: of the jobs' files; the others as `share_jobs` has them.
        """
        shares = dict.fromkeys(ranges, 0.0)
        speeds: dict[ShardRange, float] = {}
        lock, locks = threading.Lock(), held_locks()
        failed: list[BaseException] = []

        def show(shards: ShardRange, share: float, status: str) -> None:
            with lock:
                shares[shards] = share
                speeds.pop(shards, None)
                if isinstance(status, Rated) and share < 1:
                    speeds[shards] = status.per_second
                finished = sum(value == 1 for value in shares.values())
                count = f"{finished} of {len(ranges)} jobs {verb}"
                text = status if len(ranges) == 1 else count
                together = Rated(text, sum(speeds.values())) if speeds else text
                self.report_progress(sum(shares.values()) / len(ranges), together)

        def make(
            shards: ShardRange, on_wait: Callable[[], None] | None = None
        ) -> ShardRange | None:
            """Makes some shards; returns them where another run is at them and nobody waits."""
            path = folder / f"{shards.number:05d}.json"
            values = {**job, "number": shards.number, "count": shards.num_shards}
            try:
                with locked(path.with_suffix(".lock"), on_wait) as is_mine:
                    if not is_mine:
                        return shards
                    if failed:
                        return None
                    if not all(map(is_made, shards.numbers)):
                        progress = functools.partial(show, shards)
                        run_job_process(module, values, path, progress, threads=1, locks=locks)
                    if not all(map(is_made, shards.numbers)):
                        raise RuntimeError(f"{path}: its job ended, and the shards are not there")
                    show(shards, 1.0, "")
            except Exception as error:
                failed.append(error)
            return None

        with ThreadPoolExecutor(jobs_at_once()) as threads:
            try:
                of_others = [left for left in threads.map(make, ranges) if left and not failed]
                list(threads.map(lambda left: make(left, lambda: None), of_others))
            except BaseException:  # Ctrl-C
                failed.append(KeyboardInterrupt())
                end_jobs()
                raise
        if failed:
            raise failed[0]


class Artefact(ReportingTask):
    """A task that fills one folder and marks it complete by writing one file last.

    The folder's name ends in a digest of ``content()``: every parameter that changes what is
    written, the digests of what it was made from, and the schema's version. Nothing is ever
    overwritten; a changed parameter gives a new folder, a second run finds the old one.
    """

    marker: ClassVar[str] = "manifest.json"
    """File of the folder that is written last."""
    job_module: ClassVar[str]
    """What runs as the process of the stage's job, or jobs."""
    announced: ClassVar[str] = ""
    """What of the folder is the result of a run that asked for this task; by default all."""

    work_folder = luigi.PathParameter(
        default=Path("data/work"),
        significant=False,
        description="Folder with everything that runs make.",
    )
    device = luigi.Parameter(
        default="cpu",
        significant=False,
        description="Device of parsers and models: cpu, cuda, or auto (cuda if available).",
    )

    def checks(self) -> list[Check]:
        """Refuses a work folder in which nothing can be made, and settings that cannot be."""
        folder = Path(self.work_folder)
        return [lambda: check_work_folder(folder), lambda: getattr(self, "config", None)]

    def content(self) -> dict[str, Any]:
        """Returns everything that determines the output's content, as JSON-serialisable values."""
        raise NotImplementedError(f"{type(self).__name__} must define content()")

    def place(self) -> Path:
        """Returns the output folder's path without the digest."""
        raise NotImplementedError(f"{type(self).__name__} must define place()")

    @cached_property
    def digest(self) -> str:
        """Digest of ``content()``, the task's name and the schema's version."""
        named = {"task": type(self).__name__, "schema_version": SCHEMA_VERSION}
        return digest_of(named | self.content())

    @property
    def folder(self) -> Path:
        """The folder this task fills."""
        place = self.place()
        return place.with_name(f"{place.name}-{self.digest}")

    def output(self) -> luigi.LocalTarget:
        """Returns the file that marks the folder complete."""
        return luigi.LocalTarget(str(self.folder / self.marker))

    def complete(self) -> bool:
        """Returns whether the marker stands, and all that it lists.

        Where the marker is damaged the stage is not complete; its run says what to do.
        """
        if not super().complete():
            return False
        try:
            return self.is_whole()
        except ValueError as error:
            logger.warning("%s", error)
            return False

    def is_whole(self) -> bool:
        """Returns whether what a marker lists stands, too."""
        return True

    @property
    def result(self) -> Path:
        """What a run is to name at its end that asked for this task."""
        return self.folder / self.announced

    def headline(self) -> list[str]:
        """Returns the main score of what was made, if it has one."""
        score = main_score(self.folder)
        return [score] if score else []

    def places(self) -> set[Path]:
        """Returns the folders that the task writes into."""
        return {self.folder}

    def run(self) -> Any:
        """Fills the folder, alone; where another run is at it, waits and takes its result."""
        with ExitStack() as locks:
            for folder in sorted(self.places()):  # in one order, or two would wait for each other
                locks.enter_context(self.held(folder / RUN_LOCK))
            if not self.complete():
                self.fill()

    def fill(self) -> None:
        """Writes what the folder is to hold, the marker last; by default, its job does."""
        self.write_config()
        self.run_job(self.job())

    def job(self) -> Settings:
        """Returns the job that fills the folder."""
        raise NotImplementedError(f"{type(self).__name__} must define job(), or fill()")

    def run_job(self, job: Settings, *, threads: int = 1) -> None:
        """Has a job run in a process of its own and waits for it; shows how far it is.

        Args:
            threads: CPU threads the job's numerical libraries may use.

        Raises:
            JobFailedError: it failed; carries its own sentence, or its last lines.
        """
        path = self.folder / "job.json"
        run_job_process(self.job_module, job.to_dict(), path, self.report_progress, threads=threads)

    def write_config(self, *, sweep: bool = True) -> None:
        """Sweeps what a kill left behind and writes the resolved configuration into the folder.

        Args:
            sweep: False where others may be writing there.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        if sweep:
            for folder in (self.folder, self.folder / "jobs"):
                sweep_unfinished(folder)
        content = values_without_secrets(self.content())
        write_json_atomically(self.folder / CONFIG_NAME, content)


class ShardStage(Artefact):
    """A task that fills its folder with shards, which its marker sums up.

    Runs that are at it at the same time share the shards out among them.
    """

    verb: ClassVar[str]
    """What is done to the shards, such as ``parsed``."""

    def shard_job(self) -> dict[str, Any]:
        """Returns the job that makes shards on this machine, but for their numbers."""
        raise NotImplementedError(f"{type(self).__name__} must define shard_job()")

    def ranges_left(self) -> list[ShardRange]:
        """Returns what jobs are to make, a range each; asked again when these are made."""
        raise NotImplementedError(f"{type(self).__name__} must define ranges_left()")

    def make_shards(self) -> None:
        """Has the shards made that do not stand, beside other runs that are at it."""
        self.share_jobs(
            self.folder,
            self.job_module,
            self.shard_job(),
            lambda: [] if self.complete() else self.ranges_left(),
            lambda n: read_shard_manifest(self.folder, n) is not None or stands_whole(self.folder),
            self.verb,
        )

    def run(self) -> None:
        """Has the shards made, then marks the stage complete, alone."""
        if not self.complete():
            self.make_shards()
        super().run()

    @property
    def parsed_from(self) -> Path | None:
        """Folder of the sentences that the shards are parses of."""
        return None

    def is_whole(self) -> bool:
        """Returns whether every file stands that the marker lists, in its size.

        Parses of sentences that were made anew, in other bytes, are no longer whole either.
        """
        if not (whole := stands_whole(self.folder, self.parsed_from)):
            logger.warning(
                "%s: shards are gone, of another size, or parsed from sentences that were made "
                "anew; they are made again",
                self.folder,
            )
        return whole


def checksum(path: Path, *, names: tuple[str, ...] = ()) -> str:
    """Returns one digest over a file's bytes, or over these files of a folder.

    Raises:
        FileNotFoundError: the path is absent, or the folder lacks one of the files.
    """
    files = [path] if path.is_file() else [path / name for name in names]
    missing = [file.name for file in files if not file.is_file()]
    if missing or not files:
        what = f"lacks {', '.join(missing)}" if path.is_dir() and missing else "not a file"
        raise FileNotFoundError(f"{path}: {what}; check the path")
    return digest_of({file.name: remembered_sha256(file) for file in files})
