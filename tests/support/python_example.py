"""Runs a Python example and holds what it says of its results against them.

    encoder.encode(["It rains."]).shape  # → (1, 300)

What stands after the arrow is the value of the line's expression, of the name that the line
assigns, or what the line prints; ``…`` stands for anything.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
from pathlib import Path
from typing import Any

SAID = re.compile(r"#\s*→\s*(.+?)\s*$")


def run(text: str) -> int:
    """Runs an example statement by statement; returns how many results it compared.

    Raises:
        AssertionError: the example says another result than the one it has.
    """
    names: dict[str, Any] = {"__name__": "__example__"}
    lines = text.splitlines()
    compared = 0
    for statement in ast.parse(text).body:
        value, printed = _executed(statement, names)
        said = SAID.search(lines[(statement.end_lineno or 1) - 1])
        if said:
            found = printed.strip() or str(value)
            assert matches(said[1], found), f"line {statement.lineno}: {said[1]!r}, not {found!r}"
            compared += 1
    return compared


def matches(said: str, found: str) -> bool:
    """Whether a result is what a document says, blanks and line breaks being alike."""
    parts = (re.escape(" ".join(part.split())) for part in said.split("…"))
    return re.fullmatch(r"\s*.*\s*".join(parts), " ".join(found.split())) is not None


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


def main(path: str) -> None:
    """Runs the example in a file."""
    run(Path(path).read_text(encoding="utf-8"))
