"""Kills, a second run, a full disk and flipped bits: nothing is lost, nothing wrong is taken.

TREEVIEWS_FAULT_TRIALS, by default 1, is how often each line of the tables is tried.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.repository import REPOSITORY
from tests.support.stories import write_stories
from treeviews.models.evaluation.build_probing import read_summary
from treeviews.models.evaluation.task_data import NOTE_NAME, DerivedNote, read_sentences
from treeviews.models.evaluation.task_result import read_result
from treeviews.models.model.model_folder import load_model
from treeviews.models.model.ranks import ALONE
from treeviews.models.training.checkpoints import (
    CHECKPOINTS_FOLDER,
    Checkpoint,
    open_checkpoint,
    write_checkpoint,
)
from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TRIALS = int(os.environ.get("TREEVIEWS_FAULT_TRIALS", "1"))
STRIKES = (
    ("SplitSentences", "child", 1.0),
    ("TrainWordVectors", "group", 1.5),
    ("ParseDependencies", "parent", 2.0),
    ("ParseConstituents", "group", 2.0),
    ("BuildProbing", "group", 0.05),
    ("TrainEncoders", "parent", 3.0),
    ("EvaluateEncoder", "child", 2.0),
)
"""A stage, who is killed in it (see `struck_run`), and the most seconds from its beginning to that.

A killed child leaves the run to go on with what needs it not: only where that is nothing.
"""


TRAINING = {"hidden_size": 8, "epochs": 3, "batch_size": 20, "held_out_batches": 3}
PROBING = {"min_train": 20, "min_dev": 6, "min_test": 12, "min_class_train": 3}
SETTINGS = (
    *("EvaluateEncoder", "--derived", "--local-scheduler", "--source", "files"),
    *("--held-out-fraction", "0.5", "--changes", json.dumps(TRAINING), "--vectors", "corpus"),
    *("--probing-changes", json.dumps(PROBING), "--checkpoint-every-seconds", "0.2"),
)
_RUN_OF = "TREEVIEWS_TESTED_WORK_FOLDER"
"""Variable of the environment by which the processes of a run are known."""
_OF_THE_RUN = re.compile(
    r'"(\w*seconds|\w+_per_second|peak_memory_gib|data_wait_percent|commit)": (\{[^}]*|[^,}\n]+)'
    r"|[0-9a-f]{64}|commit \S+"
)
"""Of JSON: what tells of the run itself, and every sha256, since that of such JSON changes."""
_NOT_PROMISED = re.compile(r"(^|/)(jobs/|job\.json$|plan\.json$|.*\.lock$)")
"""What jobs were told, and locks."""


def arguments(text: Path, work: Path) -> list[str]:
    """Returns what a user gives Luigi."""
    return ["--module", "tasks", *SETTINGS, "--paths", str(text), "--work-folder", str(work)]


def start(text: Path, work: Path, *more: str, strike: Sequence[str] = ()) -> subprocess.Popen[str]:
    """Starts the run in a process group of its own.

    Args:
        strike: whom to kill, in which stage, after how many seconds; see `struck_run`.
    """
    program = ["tests.faults.struck_run", *strike] if strike else ["luigi"]
    return subprocess.Popen(
        [sys.executable, "-m", *program, *arguments(text, work), *more],
        cwd=REPOSITORY,
        env=os.environ | {_RUN_OF: str(work)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(run: subprocess.Popen[str]) -> tuple[int, str]:
    """Returns a run's exit status and what it said."""
    said = run.communicate()[1]
    return run.returncode, said


def left_running(work: Path, within_seconds: float) -> list[str]:
    """Returns the commands of the processes of a run that do not end in time."""
    deadline = time.monotonic() + within_seconds
    while time.monotonic() < deadline:
        alive = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it is gone
                variables = (path / "environ").read_text(errors="replace").split("\0")
                if f"{_RUN_OF}={work}" in variables:
                    alive.append((path / "cmdline").read_text().replace("\0", " "))
        if not alive:
            break
        time.sleep(0.05)
    return alive


def contents(work: Path) -> dict[str, str]:
    """Returns what a run made, a line a file, but for what it says of itself."""
    files = {str(p.relative_to(work)): p for p in work.rglob("*") if p.is_file()}
    return {
        name: _OF_THE_RUN.sub("", path.read_text(encoding="utf-8"))
        if path.suffix in {".json", ".jsonl", ".md"}
        else sha256_of_file(path)
        for name, path in files.items()
        if not _NOT_PROMISED.search(name)
    }


def differences(expected: Path, found: Path) -> list[str]:
    """Returns the names of the files that two runs do not have alike."""
    one, two = contents(expected), contents(found)
    assert one, f"{expected} holds nothing to compare"
    names = {
        name
        for name in one.keys() | two.keys()
        # Runs share the parses, so what a killed one left of a file goes when it is a day old.
        if not (name.startswith("evaluation-parses/") and name.endswith(".unfinished"))
    }
    return sorted(name for name in names if one.get(name) != two.get(name))


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stories(tmp_path_factory.mktemp("text"), num_documents=24, num_sentences=15)


@pytest.fixture(scope="module")
def finished(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of a run that nobody disturbed."""
    work = tmp_path_factory.mktemp("undisturbed") / "work"
    code, said = finish(start(text, work))
    assert code == 0, said[-2000:]
    return work


def killed_in(stage: str, way: str, seconds: float, text: Path, work: Path) -> tuple[int, str]:
    """Returns how a run ends that is killed in a stage; sooner where it was done by then."""
    before, code = work.with_name("before"), 0
    kind = stage.removeprefix("Parse").lower()
    for parsed in work.glob(f"corpora/*/{kind}-*"):
        shutil.rmtree(parsed)  # maybe done while the other kind was struck
    if work.exists():
        shutil.copytree(work, before)
    while code == 0 and seconds > 1e-5:
        shutil.rmtree(work, ignore_errors=True)
        if before.exists():
            shutil.copytree(before, work)
        code, said = finish(start(text, work, strike=(way, stage, str(seconds))))
        seconds /= 3
    shutil.rmtree(before, ignore_errors=True)
    return code, said


@pytest.mark.parametrize("trial", range(TRIALS))
def test_a_run_killed_in_every_stage_leaves_what_one_leaves_that_was_not(
    trial: int, text: Path, finished: Path, tmp_path: Path
) -> None:
    chance, work = random.Random(trial), tmp_path / "work"
    for stage, way, most_seconds in STRIKES:
        code, said = killed_in(stage, way, chance.uniform(0, most_seconds), text, work)
        assert code > 0 if way == "child" else code == -signal.SIGKILL, (stage, said[-2000:])
        assert left_running(work, within_seconds=15) == [], stage
    code, said = finish(start(text, work))
    assert code == 0, said[-2000:]
    assert differences(finished, work) == []


def test_two_runs_at_once_leave_what_one_leaves(text: Path, finished: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    runs = [start(text, work, "--workers", "1", *more) for more in ((), ("--threads", "1"))]
    for code, said in map(finish, runs):
        assert code == 0, said[-2000:]
    assert differences(finished, work) == []


ON_A_FULL_DISK = r"""
mount -t tmpfs -o size=64m tmpfs "$1" && cp -a "$2" "$1/work" || exit 77
for made in evaluation/results 'probing/*' 'models/*' 'corpora/*/dependencies-*' 'corpora/*'; do
    rm -rf "$1"/work/$made
    cat /dev/zero > "$1/ballast"
    truncate -s -12K "$1/ballast"
    RUN
    test $? -ne 0 && grep -qi "no space left on\|bytes free" "$3/said" || { cat "$3/said"; exit 1; }
    rm "$1/ballast"
done
RUN
cp -a "$1/work" "$3/work"
"""
"""What each stage has made is removed, from the last to the first, and made on a disk without space
but for 12 KiB; the run must end and say so. At last there is space again.
"""


@pytest.mark.skipif(not shutil.which("unshare"), reason="needs a disk of its own")
def test_a_run_on_a_full_disk_says_so_and_finishes_with_space(
    text: Path, finished: Path, tmp_path: Path
) -> None:
    disk, out = tmp_path / "disk", tmp_path / "out"
    disk.mkdir()
    out.mkdir()
    command = [sys.executable, "-m", "luigi", *arguments(text, disk / "work"), "--workers", "1"]
    script = ON_A_FULL_DISK.replace("RUN", f'{shlex.join(command)} > "$3/said" 2>&1')
    given = map(str, ("sh", "-c", script, "sh", disk, finished, out))
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", *given],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"no disk of its own: {done.stderr}")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert differences(finished, out / "work") == []


def _rows(folder: Path) -> Any:
    stage = folder.name.partition("-")[0]
    return read_dataset_manifest(folder, stage), read_shard(folder, stage, 0).to_pylist()


def _vectors(folder: Path) -> Any:
    found = load_word_vectors(folder)
    return found.words, found.matrix.tobytes()


def _model(folder: Path) -> Any:
    found = load_model(folder)
    return found.config, _bytes_of(found.state_dict())


def _checkpoint(folder: Path) -> Any:
    found = open_checkpoint(folder.parent.parent, "identity", ALONE)
    return found and (found.step, found.state, _bytes_of(found.tensors))


def _items(folder: Path) -> Any:
    note = DerivedNote.read(folder / NOTE_NAME, remedy="build it again")
    return read_sentences(folder, note).table.to_pylist()


def _result(folder: Path) -> Any:
    return pickle.dumps(read_result(next(folder.glob("[A-Z]*.json"))))


def _parser(folder: Path) -> Any:
    return load_parser(folder, "constituents").checksum


def _bytes_of(tensors: dict[str, torch.Tensor]) -> dict[str, bytes]:
    return {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


CORPUS = "corpora/files-????????????"
READERS: dict[Callable[[Path], Any], tuple[str, ...]] = {
    _rows: tuple(
        f"{CORPUS}/{stage}/{name}"
        for stage in ("sentences", "dependencies-*", "constituents-*")
        for name in ("00000.parquet", "00000.json", "manifest.json")
    ),
    _vectors: ("vectors/*/vectors.safetensors", "vectors/*/words.parquet"),
    _model: ("models/*/model.safetensors", "models/*/model.json", "models/*/best/*"),
    _checkpoint: ("checkpoints/*2/tensors.safetensors", "checkpoints/*2/state.json"),
    read_summary: ("probing/*/probing.json",),
    _items: ("probing/*/senteval/*/sentences.parquet", "probing/*/senteval/*/derived.json"),
    _result: ("evaluation/results/*/[A-Z]*.json",),
    _parser: ("parser/weights.safetensors", "parser/parser.json", "parser/checksums.json"),
}
"""How a user reads a folder, and the files of a run that it reads."""


@pytest.fixture(scope="module")
def work(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the run, with a parser and two checkpoints."""
    work = shutil.copytree(finished, tmp_path_factory.mktemp("damaged") / "work")
    shutil.copytree(BUNDLED_PARSERS["constituents"], work / "parser")
    for step in (1, 2):
        tensors = {"weight": torch.linspace(0, step, 300)}
        checkpoint = Checkpoint(step, tensors, {"identity": "identity"})
        write_checkpoint(work / CHECKPOINTS_FOLDER, checkpoint)
    return work


@pytest.mark.parametrize(
    ("read", "pattern"),
    [(read, pattern) for read, patterns in READERS.items() for pattern in patterns],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_flipped_bit_goes_through(
    read: Callable[[Path], Any], pattern: str, work: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is refused by name, with a remedy; or what is read is right all the same."""
    path = next(work.glob(pattern))
    expected, whole, chance = read(path.parent), path.read_bytes(), random.Random(0)
    for _ in range(3 * TRIALS):
        damaged, place = bytearray(whole), chance.randrange(len(whole))
        damaged[place] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        caplog.clear()
        try:
            found = read(path.parent)
        except (ValueError, FileNotFoundError) as error:
            assert str(path.parent) in str(error)
            assert re.search("delete|again|restore", str(error))
        else:
            went_back = read is _checkpoint and found[0] == 1 and str(path.parent) in caplog.text
            assert found == expected or went_back, f"byte {place} of {path}"
        finally:
            for set_aside in path.parent.parent.glob("broken-*"):
                set_aside.rename(path.parent)
            path.write_bytes(whole)
