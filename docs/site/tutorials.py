"""Executes the notebooks of docs/tutorials anew and stores them with what they print.

    python docs/site/tutorials.py      # or: make tutorials

A stored output is what any machine prints: times are left out, and a cell that fails, warns or
names a place of this machine is refused.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

REPOSITORY = Path(__file__).resolve().parents[2]
TUTORIALS = REPOSITORY / "docs" / "tutorials"
SECONDS_FOR_A_CELL = 600
VARIES = "varies"
_TIME = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?= (?:s|ms|seconds|sentences/s)\b)")
_PLACE = re.compile(r"(?<![\w.])(?:/(?:home|root|tmp|usr|var|work|opt|Users|private)\b\S*|~/\S*)")
_DIGEST = re.compile(r"\b(?=\w*\d)[0-9a-f]{12}\b")
_NUMBER = re.compile(r"[-+]?\d[\d,.]*(?:e[-+]\d+)?%?")


def notebooks() -> list[Path]:
    """Returns the notebooks, in order of their names."""
    return sorted(TUTORIALS.glob("*.ipynb"))


def executed(path: Path, folder: Path) -> Any:
    """Returns a notebook with the outputs that its cells have now.

    Args:
        path: of the notebook, which stays as it is.
        folder: in which it runs, and which has its temporary files.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell fails.
        ValueError: a cell says what no page should show.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=SECONDS_FOR_A_CELL,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    )
    own = {"PYTHONPATH": str(REPOSITORY), "TMPDIR": str(folder), "IPYTHONDIR": str(folder)}
    client.execute(env=os.environ | own)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output["text"] = _TIME.sub("…", output.get("text", ""))
    if faults := faults_of(notebook):
        raise ValueError(f"{path.name}: {'; '.join(faults)}")
    return notebook


def faults_of(notebook: Any) -> list[str]:
    """Returns what of a notebook's outputs no page should show.

    Args:
        notebook: as nbformat reads it.
    """
    faults = []
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.execution_count is None:
            faults.append(f"{cell.id} was not executed")
        for output in cell.get("outputs", []):
            if output.output_type != "stream" or output.name != "stdout":
                faults.append(f"{cell.id} gives more than it prints: {output}")
            elif found := _PLACE.search(output.text):
                faults.append(f"{cell.id} names a place of this machine: {found[0]}")
            elif found := _TIME.search(output.text):
                faults.append(f"{cell.id} tells a time of this machine: {found[0]}")
    return faults


def said(notebook: Any) -> list[str]:
    """Returns what each cell prints, without numbers and digests: other processors round otherwise.

    A cell with the tag `VARIES` may print something else elsewhere.

    Args:
        notebook: as nbformat reads it.
    """
    return [
        " ".join(_NUMBER.sub("#", _DIGEST.sub("#", output.text)).split())
        for cell in notebook.cells
        if VARIES not in cell.metadata.get("tags", [])
        for output in cell.get("outputs", [])
    ]


def main() -> int:
    """Executes and stores all notebooks; returns the exit code."""
    for path in notebooks():
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(path, Path(folder))
        nbformat.write(notebook, path)
        print(f"{path.relative_to(REPOSITORY)}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
