"""Runs a Python example and compares its results with those that it shows; runs our command.

    encoder.encode(["It rains."]).shape  # → (1, 300)

What stands after the arrow is the value of the line's expression, of the name that the line
assigns, or what the line prints; ``…`` stands for anything.
"""

from __future__ import annotations

import ast
import contextlib
import io
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RESULT = re.compile(r"#\s*→\s*(.+?)\s*$")


def run_example(text: str) -> int:
    """Runs an example statement by statement; returns how many results it compared.

    Raises:
        AssertionError: the example shows another result than the one it has.
    """
    names: dict[str, Any] = {"__name__": "__example__"}
    lines = text.splitlines()
    compared = 0
    for statement in ast.parse(text).body:
        value, printed = _executed(statement, names)
        if shown := RESULT.search(lines[(statement.end_lineno or 1) - 1]):
            result = printed.strip() or str(value)
            place = f"line {statement.lineno}"
            assert matches(shown[1], result), f"{place}: {shown[1]!r}, not {result!r}"
            compared += 1
    return compared


def matches(shown: str, result: str) -> bool:
    """Whether a result is what a document shows, blanks and line breaks being alike."""
    parts = (re.escape(" ".join(part.split())) for part in shown.split("…"))
    return re.fullmatch(r"\s*.*\s*".join(parts), " ".join(result.split())) is not None


def _executed(statement: ast.stmt, names: dict[str, Any]) -> tuple[Any, str]:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if isinstance(statement, ast.Expr):
            code = compile(ast.Expression(statement.value), "<example>", "eval")
            value = eval(code, names)
            return value, printed.getvalue()
        exec(compile(ast.Module([statement], []), "<example>", "exec"), names)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return names[statement.targets[0].id], printed.getvalue()
    return None, printed.getvalue()


PRELOADED = [
    *("torch", "spacy", "scipy.stats", "pyarrow.dataset", "nltk", "supar", "duckdb", "tqdm"),
    *("treeviews.models.evaluate_tasks", "treeviews.pipeline.parsers.sentence_parser"),
    *("treeviews.tasks", "treeviews.pipeline.parsing.parse_text", "treeviews.command"),
]
"""What the processes of examples are forked with, which saves them their start."""


def run_forked(
    words: Sequence[str], folder: Path, home: Path, *, stdin: str = os.devnull, stdout: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs our command, or the Python ``example`` in a file, in a process and folder of its own.

    Args:
        words: ``treeviews`` or ``example``, and the arguments.
        home: of the user.
        stdin: a file that it reads.
        stdout: a file that it writes; by default what it prints is returned.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with tempfile.TemporaryDirectory() as name:
        printed = [Path(name) / "stdout", Path(name) / "stderr"]
        files = [folder / stdin, folder / stdout if stdout else printed[0], printed[1]]
        process = context.Process(target=_run, args=(list(words), folder, home, files))
        process.start()
        process.join()
        texts = [path.read_text("utf-8") if path.exists() else "" for path in printed]
    return subprocess.CompletedProcess(list(words), process.exitcode or 0, *texts)


def _run(words: list[str], folder: Path, home: Path, files: list[Path]) -> None:
    from treeviews.command import main

    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ |= {"HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2])}
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        with files[number].open(mode) as file:
            os.dup2(file.fileno(), number)
        setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    sys.argv = words
    code: Any = 1
    try:
        if words[0] == "example":
            run_example(Path(words[1]).read_text(encoding="utf-8"))
            code = 0
        else:
            code = main(words[1:])
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(code or 0))
