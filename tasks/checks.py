"""What can be known before a run begins is said before it begins, all of it together.

Each stage has its `checks`. A check is called without arguments and refuses mistakes of the user's
by raising them; it makes nothing. What it raises as a warning holds up no run.
"""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import luigi

from treeviews.pipeline.base.bundled import how_to_install
from treeviews.pipeline.base.mistakes import is_mistake, mistakes_of, sentence_of

logger = logging.getLogger("luigi-interface")

Check = Callable[[], object]

_COUNT_GPUS = "import torch; print(torch.cuda.device_count() if torch.cuda.is_available() else 0)"


class CheckedTask(luigi.Task):
    """A task that can be asked before a run whether it could do its work."""

    def checks(self) -> list[Check]:
        """Returns what refuses mistakes that only this stage meets."""
        return []

    def checked(self) -> Iterable[luigi.Task]:
        """Returns the tasks below that are checked, too.

        A stage that mistakes of its own keep from naming what it requires says here what it can.
        """
        found: list[luigi.Task] = luigi.task.flatten(self.requires())
        return found


def mistakes_in(root: luigi.Task, *more: Check) -> list[str]:
    """Returns what is wrong with a task and all below it, each a sentence with its remedy.

    What is done already needs neither a machine nor a place for the work. Where nothing is wrong,
    warnings are logged.

    Args:
        more: checks of how it is to be run.
    """
    mistakes: dict[Any, str] = {}
    warnings: dict[str, None] = {}
    seen: set[str] = set()
    waiting = [root]

    for task in waiting:
        if not isinstance(task, CheckedTask) or task.task_id in seen:
            continue
        seen.add(task.task_id)
        look_below = partial(lambda task: waiting.extend(task.checked()), task)
        checks: list[Check] = [*task.checks(), look_below]
        errors = [error for error in map(_refusal, checks) if error is not None]
        if errors and not _is_done(task):
            warnings |= {str(error): None for error in errors if isinstance(error, Warning)}
            refused = [error for error in errors if not isinstance(error, Warning)]
            for sentence in (sentence for error in refused for sentence in mistakes_of(error)):
                mistakes.setdefault(_field_of(sentence) or sentence, sentence)
    for error in filter(None, map(_refusal, more)):
        mistakes |= {sentence: sentence for sentence in mistakes_of(error)}
    for warning in () if mistakes else warnings:
        logger.warning("%s", warning)
    return list(mistakes.values())


def _field_of(sentence: str) -> tuple[str, ...] | None:
    """Returns of which field with which value a mistake is: several settings may have one."""
    match = re.match(r"[\w -]+ (\w+) must .*, got (.*)", sentence)
    return match and match.groups()


def _refusal(check: Check) -> Exception | None:
    """Returns what a check refuses; one that fails itself holds up no run."""
    try:
        check()
    except Exception as error:
        if is_mistake(error) or isinstance(error, Warning):
            return error
        logger.info("not checked before the run: %s", sentence_of(error))
    return None


def _is_done(task: luigi.Task) -> bool:
    """Returns whether nothing of a task is to be made; what is wrong with it, its run tells."""
    logger.disabled = True  # what is gone of it, its run tells, too
    try:
        return bool(task.complete())
    except Exception:
        return False
    finally:
        logger.disabled = False


def check_work_folder(folder: Path) -> None:
    """Refuses a work folder that cannot be made or written to.

    Raises:
        ValueError: a file is in its place, or it may not be written to.
    """
    standing = folder.absolute()
    while not os.path.lexists(standing) and standing != standing.parent:
        standing = standing.parent
    if not standing.is_dir():
        raise ValueError(f"{standing}: a file, so no work folder can be there; give --work-folder")
    try:
        Path(tempfile.mkdtemp(prefix=".treeviews-", dir=standing)).rmdir()
    except OSError as error:
        raise ValueError(
            f"{standing}: not writable ({error.strerror}), and the work folder {folder} is to be "
            "there; ask for access, or give another --work-folder"
        ) from error


def check_device(device: str, engine: str = "local") -> None:
    """Refuses a device that this machine does not have.

    Args:
        engine: what runs on Ray has other machines.

    Raises:
        ValueError: no device is called so, or there is none.
    """
    kind, _, number = device.partition(":")
    if kind not in {"auto", "cpu", "cuda"} or (number and not number.isdecimal()):
        raise ValueError(f"unknown device {device!r}; give auto, cpu, cuda or cuda:NUMBER")
    if kind == "cuda" and engine != "ray" and int(number or 0) >= (found := num_gpus()):
        raise ValueError(
            f"device is {device}, and this machine has {found or 'no'} CUDA "
            f"device{'' if found == 1 else 's'} that torch could use; give --device auto or cpu, "
            "or install a driver and a torch for this machine's GPU"
        )


@cache
def num_gpus() -> int:
    """Returns how many GPUs torch finds, in a process of its own: this one forks."""
    command = [sys.executable, "-P", "-c", _COUNT_GPUS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout or 0)


def check_installed(library: str, asked: str, extra: str) -> None:
    """Refuses what needs a library that is not installed.

    Args:
        library: its name in Python.
        asked: what needs it, in words.
        extra: that installs it.

    Raises:
        ModuleNotFoundError: names the remedy.
    """
    try:
        found = find_spec(library)
    except ValueError:  # another module stands in its place
        found = None
    if found is None:
        raise ModuleNotFoundError(
            f"{asked} needs {library}, which is not installed: {how_to_install(extra)}"
        )
