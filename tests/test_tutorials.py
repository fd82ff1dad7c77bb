"""The notebooks of the documents: what they store can be shown, and is what they print today."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.repository import REPOSITORY

ARE_THERE = all(importlib.util.find_spec(name) for name in ("nbclient", "nbformat", "ipykernel"))
pytestmark = pytest.mark.skipif(not ARE_THERE, reason="nothing to run notebooks with is installed")
if ARE_THERE:
    import nbformat

    from docs.site.tutorials import executed, faults_of, notebooks, said

NOTEBOOKS = sorted((REPOSITORY / "docs" / "tutorials").glob("*.ipynb"))
MOST_BYTES = 100_000
SHIPS = {"treeviews", "numpy"}
"""What cells may import beside Python's own modules."""
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])


@each
def test_what_a_notebook_stores_is_small_and_of_no_machine(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)

    assert path in notebooks()
    assert path.stat().st_size < MOST_BYTES
    assert faults_of(notebook) == []
    assert any(cell.get("outputs") for cell in notebook.cells)


@each
def test_cells_are_plain_python_of_what_ships(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    trees = [ast.parse(cell.source) for cell in cells if cell.cell_type == "code"]
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name).split(".")[0]
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }

    assert imported - set(sys.stdlib_module_names) <= SHIPS


@each
def test_a_notebook_links_to_what_is_there(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    targets = [link for c in cells if c.cell_type == "markdown" for link in LINK.findall(c.source)]

    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_what_is_of_one_machine_is_found() -> None:
    def cell(name: str, stream: str, text: str) -> Any:
        made = nbformat.v4.new_code_cell("", id=name, execution_count=1)
        made.outputs = [nbformat.v4.new_output("stream", name=stream, text=text)]
        return made

    new = nbformat.v4.new_code_cell("", id="new")
    cells = [
        cell("place", "stdout", "saved in /tmp/a/b"),
        cell("time", "stdout", "took 1.25 s"),
        cell("warns", "stderr", "beware"),
        new,
    ]
    place, seconds, warns, last = faults_of(nbformat.v4.new_notebook(cells=cells))

    assert place == "place names a place of this machine: /tmp/a/b"
    assert seconds == "time tells a time of this machine: 1.25"
    assert warns.startswith("warns gives more than it prints")
    assert last == "new was not executed"


@pytest.mark.slow
@pytest.mark.timeout(900)
@each
def test_a_notebook_prints_what_it_stores(path: Path, tmp_path: Path) -> None:
    """Each cell also holds what the text says of its results, by asserts."""
    assert said(executed(path, tmp_path)) == said(nbformat.read(path, as_version=4))
