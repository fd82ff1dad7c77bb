"""What an example's command asks for, held against the programs that it names, without running it.

Each check takes the command's words and raises an `AssertionError` (or what the program itself
raises on a mistake) if the program would refuse them.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import io
import os
import re
import runpy
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import luigi
from luigi.cmdline_parser import CmdlineParser

from tests.support.repository import REPOSITORY

SHA256 = "0" * 64
RUN_QUICKLY = (
    *("encode", "evaluate", "compare", "inspect", "presets", "parse", "--version"),
    *("vectors", "vocabulary", "list", "diff"),
)
"""Subcommands whose examples take seconds on the prepared folder, and are run."""
MODELS_RUN_QUICKLY = ("show", "export")
"""Those of ``treeviews models`` that do."""


def filled_in(words: Sequence[str], folder: Path) -> list[str]:
    """Returns a command's words with what stands for something in its place.

    ``NAME-…`` is what the folder has of that name, a single ``…`` after an option a sha256, one at
    the end "and so on". ``HEX`` is a sha256, ``~`` the folder's home.
    """
    filled: list[str] = []
    for place, word in enumerate(words):
        if word == "…":
            filled += [SHA256] if words[place - 1].endswith("sha256") else []
        else:
            filled.append(filled_in_text(word, folder))
    return filled


def filled_in_text(text: str, folder: Path) -> str:
    """Returns a text with its names that end in ``…`` completed from the folder."""

    def found(match: re.Match[str]) -> str:
        (path,) = folder.glob(match[0].replace("…", "*"))
        return str(path.relative_to(folder))

    text = re.sub(r"\bHEX\b", SHA256, text.replace("https://…", "https://example.org/text.txt"))
    text = re.sub(r"(?<![\w/])~(?=/)", str(folder / "home"), text)
    return re.sub(r"[\w./-]+-…", found, text)


def check(words: Sequence[str]) -> None:
    """Holds a command against its program; the working folder is that of the examples."""
    while words and re.fullmatch(r"\w+=.*", words[0]):
        words = words[1:]
    program = CHECKS.get(words[0], _is_not_ours)
    program(list(words[1:]))


def is_run(words: Sequence[str]) -> bool:
    """Whether the command is quick, and harmless, on the prepared folder."""
    if words[0] in ("printf", "mkdir", "cat"):
        return True
    if words[0] != "treeviews":
        return False
    is_quick = words[1] in RUN_QUICKLY
    return is_quick or (words[1] == "models" and words[2] in MODELS_RUN_QUICKLY)


def _is_not_ours(words: list[str]) -> None:
    """Other people's programs: their own documents say what they take."""


def _luigi(words: list[str]) -> None:
    if "--help" in words:
        words = [*words, "--module", "tasks"]
        with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
            CmdlineParser(words)
        assert "--work-folder" in shown.getvalue()
        return
    with CmdlineParser.global_instance(words, allow_override=True) as parser:
        _build(parser.get_task_obj())


def _treeviews(words: list[str]) -> None:
    """Holds a command against ours, whose subcommands do nothing but for ``run``'s."""
    if words[0] in ("run", "status"):
        words = [word for word in words if word != "--json"]
        named = len(words) > 1 and not words[1].startswith("-")
        _luigi([*(words[1:] if named else ["RunAll", *words[1:]]), "--module", "tasks"])
        return
    subcommand_called(words)


def subcommands() -> list[str]:
    """Returns the subcommands of ours that do something, such as ``inspect show``."""
    return [" ".join(path) for path, _ in _leaves(_command())]


def subcommand_called(words: Sequence[str]) -> str | None:
    """Returns which subcommand the words after ``treeviews`` call, of which nothing is done.

    ``inspect PATH`` calls ``inspect overview``. None are called by ``--version`` and ``--help``.

    Raises:
        Exception: the command refuses the words.
    """
    command = _command()
    for path, leaf in _leaves(command):
        leaf.callback = functools.partial(_named, " ".join(path))
    with contextlib.redirect_stdout(io.StringIO()):
        called = command(list(words), prog_name="treeviews", standalone_mode=False)
    return called if isinstance(called, str) else None


def _named(path: str, /, *_: Any, **__: Any) -> str:
    return path


def _command() -> Any:
    """Returns our command; its groups do nothing by themselves."""
    import typer

    from treeviews.command.app import app

    command = typer.main.get_command(app)
    waiting = [command]
    while waiting:
        group = waiting.pop()
        group.callback = None
        waiting += [one for one in group.commands.values() if hasattr(one, "commands")]
    return command


def _leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the commands below one that have none below them, with their names."""
    for name, below in command.commands.items():
        if hasattr(below, "commands"):
            yield from _leaves(below, (*path, name))
        else:
            yield (*path, name), below


def _build(task: luigi.Task) -> int:
    """Makes the graph below a task, with every path in it; returns how many tasks it has."""
    seen: set[str] = set()
    waiting = [task]
    while waiting:
        one = waiting.pop()
        if one.task_id not in seen:
            seen.add(one.task_id)
            luigi.task.flatten(one.output())
            waiting += luigi.task.flatten(one.requires())
    return len(seen)


def _make(words: list[str]) -> None:
    targets = re.findall(r"^([\w-]+):", (REPOSITORY / "Makefile").read_text("utf-8"), re.MULTILINE)
    unknown = {word for word in words if "=" not in word} - set(targets)
    assert not unknown, f"no target {unknown} in the Makefile"


def _pip(words: list[str]) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    for word in words:
        for extras in re.findall(r"(?:^\.|treeviews|\.whl)\[([\w,-]+)\]", word):
            unknown = set(extras.split(",")) - set(project["optional-dependencies"])
            assert not unknown, f"no extra {unknown} in pyproject.toml"


def _python(words: list[str]) -> None:
    if words[:1] == ["-m"] and words[1].startswith(("treeviews.", "benchmarks.")):
        _accepted_by_argparse(words[1], words[2:])


class _AcceptedError(Exception):
    """The options of a program were accepted; it is not to go on."""


def _accepted_by_argparse(module: str, words: list[str]) -> None:
    """Starts a program and ends it when its parser has accepted the words."""
    original = argparse.ArgumentParser.parse_args

    def parse_args(self: argparse.ArgumentParser, args: Sequence[str] | None = None) -> None:
        original(self, args)
        raise _AcceptedError

    before = sys.argv
    sys.argv = [module, *words]
    argparse.ArgumentParser.parse_args = parse_args  # type: ignore[assignment]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except _AcceptedError:
        return
    except SystemExit as end:
        raise AssertionError(f"python -m {module} refuses {' '.join(words)}") from end
    finally:
        argparse.ArgumentParser.parse_args = original  # type: ignore[method-assign]
        sys.argv = before
    raise AssertionError(f"python -m {module} parses no options")


def _torchrun(words: list[str]) -> None:
    if "-m" in words:
        module = words[words.index("-m") + 1]
        assert importlib.util.find_spec(module), module


def _srun(words: list[str]) -> None:
    """The options of srun, then a command."""
    while words and words[0].startswith("-"):
        words = words[1:]
    if words:
        check(words)


CHECKS: dict[str, Callable[[list[str]], None]] = {
    "luigi": _luigi,
    "make": _make,
    "pip": _pip,
    "python": _python,
    "srun": _srun,
    "torchrun": _torchrun,
    "treeviews": _treeviews,
}


NOTED = ("treeviews", "srun", "torchrun", "python")
STUB = """#!/bin/bash
{ printf '%s\\x1f' "$(basename "$0")" "$@"; printf '\\x1e'; } >> "$NOTES"
"""
SLURM = {
    "SLURM_CPUS_PER_TASK": "2",
    "SLURM_GPUS": "2",
    "SLURM_NNODES": "2",
    "SLURM_JOB_ID": "17",
    "SLURM_JOB_NODELIST": "node-[0-1]",
}
"""What a job finds in its environment, beside the folder it was submitted in."""


def write_program(path: Path, text: str) -> None:
    """Writes an executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def commands_of_script(script: str, folder: Path, programs: Path) -> list[list[str]]:
    """Runs a script with programs that note their call; returns what it would have started."""
    for name in NOTED:
        write_program(programs / name, STUB)
    write_program(programs / "scontrol", "#!/bin/bash\nprintf 'node-0\\nnode-1\\n'\n")
    write_program(folder / "env" / "bin" / "activate", f'PATH="{programs}:$PATH"\n')
    own = {
        "SLURM_SUBMIT_DIR": str(folder),
        "TREEVIEWS_ENV": str(folder / "env"),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "NOTES": str(programs / "notes"),
    }
    subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=os.environ | SLURM | own,
        check=True,
        capture_output=True,
    )
    calls = (programs / "notes").read_text("utf-8").split("\x1e")[:-1]
    return [call.split("\x1f")[:-1] for call in calls]
