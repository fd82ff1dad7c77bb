"""A disk that gets full in each stage: the run says so and ends; with space again it finishes.

The work folder is on a small file system in memory, mounted in a namespace of its own, which takes
no administrator where users may have namespaces. A finished run is copied onto it. From the last
stage to the first, what the stage has made is removed, the disk is filled up to what is to be left
free, and the run is started. What each failure leaves behind stays there.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.chaos.same_bytes import differences
from benchmarks.chaos.tiny_run import (
    ALL,
    STAGES,
    TOGETHER,
    Stage,
    Started,
    TinyRun,
    stage_named,
    undisturbed,
    write_tiny_text,
)
from benchmarks.chaos.trial import Options, Trial
from benchmarks.report import REPOSITORY

DISK_BYTES = 64 << 20
FREE_SHARES = 2
"""How often each stage meets a full disk: once without a free byte, else with a random part of what
the stage takes."""
END_SECONDS = 300.0
"""Within which a run on a full disk must end."""
FULL = "no space left on"
"""In the system's words (``… device``) and in ours."""
PAGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A file system of `DISK_BYTES` in the namespace of a process that holds it."""

    folder: Path
    """Where it is mounted, in there."""
    holder: int

    @property
    def seen_from_outside(self) -> Path:
        """The same folder for processes that are not in the namespace."""
        return Path(f"/proc/{self.holder}/root{self.folder}")

    @property
    def enter(self) -> tuple[str, ...]:
        """What a command that is to see the disk is run by."""
        inside = ("nsenter", "--target", str(self.holder), "--user", "--preserve-credentials")
        return (*inside, "--mount", "env", f"--chdir={REPOSITORY}")

    def leave_free(self, free_bytes: int) -> None:
        """Fills the disk but for so many bytes, rounded to pages; a negative number empties it."""
        ballast = self.seen_from_outside / "ballast"
        ballast.unlink(missing_ok=True)
        if free_bytes < 0:
            return
        state = os.statvfs(self.seen_from_outside)
        size = state.f_bavail * state.f_frsize - free_bytes // PAGE_BYTES * PAGE_BYTES
        with ballast.open("wb") as stream:
            os.posix_fallocate(stream.fileno(), 0, max(size, 1))


def trials(options: Options) -> Iterator[Trial]:
    """Fills the disk in every stage, then gives space and compares what is there in the end."""
    disk_folder = options.work / "disk"
    text = write_tiny_text(options.work / "text", documents=2 if options.quick else 12)
    run = TinyRun(text, disk_folder / "run", options.work / "logs", ("--workers", "1"))
    stages: Sequence[Stage] = STAGES[::-1]
    roots: list[tuple[str, ...]] = [TOGETHER, ALL]
    if options.quick:
        roots = [("SplitSentences",)]
        stages = [replace(stage_named("SplitSentences"), root=roots[0])]
    with small_disk(disk_folder) as disk:
        if isinstance(disk, str):
            yield Trial("a small file system", False, f"could not be tried: {disk}")
            return
        undisturbed(run, roots)
        inside = disk.seen_from_outside / "run"
        shutil.copytree(run.work, inside)
        run.within = disk.enter
        yield from _full(run, disk, stages, random.Random(options.seed))
        disk.leave_free(-1)
        for root in roots:
            ended = run.finish(root)
            yield Trial(f"{root[0]}, with space again", ended.code == 0, _outcome(ended))
        found = shutil.copytree(inside, options.work / "found")
        different = differences(run.work, found)
        yield Trial("the bytes after all", not different, "; ".join(different) or "the same")


def _full(
    run: TinyRun, disk: SmallDisk, stages: Sequence[Stage], chance: random.Random
) -> Iterator[Trial]:
    """Starts the run on a disk that is full for each stage."""
    for stage in stages:
        # As the undisturbed run has it, which is not on the disk.
        size = sum(p.stat().st_size for f in run.work.glob(stage.folders) for p in f.rglob("*"))
        for free_bytes in (0, *(chance.randrange(size) for _ in range(FREE_SHARES - 1))):
            disk.leave_free(-1)
            for folder in (disk.seen_from_outside / "run").glob(stage.folders):
                if stage.is_complete(disk.seen_from_outside / "run"):
                    shutil.rmtree(folder)
            disk.leave_free(free_bytes)
            yield _on_full_disk(run, stage, free_bytes)


def _on_full_disk(run: TinyRun, stage: Stage, free_bytes: int) -> Trial:
    started = run.start(stage.root)
    started.wait_until(lambda: False, END_SECONDS)
    what = f"{free_bytes} bytes free before {stage.name}"
    if started.code is None:
        started.kill_group()
        return Trial(what, False, f"still ran after {END_SECONDS:.0f} s: {started.said()}")
    says_so = FULL in started.log.read_text(encoding="utf-8", errors="replace").lower()
    return Trial(what, started.code != 0 and says_so, _outcome(started))


def _outcome(ended: Started) -> str:
    return f"ended with {ended.code}: {ended.said()}"


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk | str]:
    """Mounts a small file system for the time of a ``with`` block; where it cannot, says why."""
    folder.mkdir(parents=True)
    mount = f'mount -t tmpfs -o size={DISK_BYTES} tmpfs "$0" && echo mounted && exec cat'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, str(folder)]
    try:
        holder = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # at whose end it ends
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    except OSError as error:
        yield str(error)
        return
    assert holder.stdin is not None and holder.stdout is not None
    try:
        said = holder.stdout.readline().strip()
        yield SmallDisk(folder, holder.pid) if said == "mounted" else said or "unshare failed"
    finally:
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()
