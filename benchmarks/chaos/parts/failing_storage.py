"""A storage that fails one call in ten: a run finishes, or says so and goes on at its next start.

The storage is an S3 of this machine. A run is started until it finishes; then another work folder
takes the shards from the storage, a Ray cluster makes them once more in another folder there, and a
stage is copied by the command. The last error of a start that fails must name the storage.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.chaos.failing_store import BUCKET, FailingStore, failing_store
from benchmarks.chaos.same_bytes import differences
from benchmarks.chaos.tiny_run import (
    PROBING_SETTINGS,
    TinyRun,
    last_error,
    undisturbed,
    write_tiny_text,
)
from benchmarks.chaos.trial import Options, Trial
from benchmarks.report import REPOSITORY

SHARE, QUICK_SHARE = 0.1, 0.2
"""Of the calls, which fail. A quick run makes some dozens, too few for one in ten."""
MOST_STARTS = 20
END_SECONDS = 600.0
ON_RAY = ("--engine", "ray", "--ray-address", "local")


def trials(options: Options) -> Iterator[Trial]:
    """Runs stages that parse over a storage that fails, and compares what they make."""
    root = ("ParseDependencies",) if options.quick else ("BuildProbing", *PROBING_SETTINGS)
    text = write_tiny_text(options.work / "text", documents=2 if options.quick else 12)
    run = TinyRun(text, options.work / "undisturbed", options.work / "logs", ("--workers", "1"))
    try:
        with failing_store(random.Random(options.seed)) as store:
            undisturbed(run, [root])
            store.share = QUICK_SHARE if options.quick else SHARE
            yield from _over_storage(run, root, store, options)
            yield Trial("calls that failed", store.num_failed > 0, store.so_far())
    except ModuleNotFoundError as error:
        yield Trial("a storage", False, f"could not be tried: pip install -e '.[dev]' ({error})")


def _over_storage(
    run: TinyRun, root: Sequence[str], store: FailingStore, options: Options
) -> Iterator[Trial]:
    """Runs the task in several ways, each until it is done."""
    expected, place, mark, settings = run.work, *store.address.partition("?")
    ways = {"first": ("first", ()), "second": ("first", ()), "ray": ("ray", ON_RAY)}
    for name in ["first"] if options.quick else ways:
        folder, more = ways[name]
        address = f"{place}/{folder}{mark}{settings}"
        own = replace(run, work=options.work / name, logs=options.work / f"logs-{name}", starts=0)
        own.more = (*run.more, "--storage", address, *more)
        yield from _until_done(f"{root[0]}, {name}", lambda own=own: _start(own, root))  # type: ignore[misc]
        different = differences(expected, own.work)
        yield Trial(f"the bytes of {name}", not different, "; ".join(different) or "the same")
    (stage,) = expected.glob("corpora/files-????????????/dependencies-*")
    copy = options.work / "copy"
    url = f"{place}/first/{stage.relative_to(expected)}{mark}{settings}"
    yield from _until_done("a copy", lambda: _copy(url, copy))
    different = [line for line in differences(stage, copy) if line != "config.json is missing"]
    yield Trial("the bytes of the copy", not different, "; ".join(different) or "the same")


def _start(run: TinyRun, root: Sequence[str]) -> tuple[int | None, str]:
    """Runs a task; returns its exit status and its log."""
    started = run.start(root)
    started.wait_until(lambda: False, END_SECONDS)
    code = started.code
    started.kill_group()
    return code, started.log.read_text(encoding="utf-8", errors="replace")


def _copy(url: str, folder: Path) -> tuple[int | None, str]:
    """Copies a stage of the storage; returns the command's exit status and what it said."""
    command = [sys.executable, "-m", "pipeline.storage", url, str(folder)]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def _until_done(what: str, start: Callable[[], tuple[int | None, str]]) -> Iterator[Trial]:
    """Starts until it succeeds; each start must succeed or name the storage."""
    for number in range(1, MOST_STARTS + 1):
        code, said = start()
        error = last_error(said)
        survived = code == 0 or (code is not None and f"s3://{BUCKET}" in error)
        fate = f"ended with {code}: {error[:300]}"
        yield Trial(f"{what}, start {number}", survived, fate)
        if code == 0:
            return
    yield Trial(what, False, f"not done after {MOST_STARTS} starts")
