"""All of the papers' tables by one command."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from models.experiments.exports.csv_lines import csv_lines
from models.experiments.exports.latex import latex
from models.experiments.exports.page import tables_page
from models.experiments.result_table import ResultTable, read_table
from models.report.html.page import html_page
from models.report.markdown import markdown_page
from pipeline.base.atomic_files import write_bytes_atomically, write_json_atomically
from tasks.artefact import Artefact
from tasks.experiments.make_table import MakeTable
from tasks.experiments.parameters import ExperimentParameters
from tasks.experiments.tables import TABLES

PAGE_VERSION = 4
"""Raised when the same tables would give another page."""


class PaperTables(ExperimentParameters, Artefact):
    """Makes all of the papers' tables at one scale; what they share is made once.

    Output: ``tables.html`` and ``tables.md`` with all of them, ``tables.csv`` and ``tables.tex``;
    each table has a folder of its own, too.
    """

    marker = "tables.json"
    announced = "tables.html"

    @cached_property
    def tables(self) -> list[MakeTable]:
        """The tables, in the order of the page."""
        return [self.clone(table) for table in TABLES]

    def requires(self) -> list[MakeTable]:
        """Returns the tables."""
        return self.tables

    def content(self) -> dict[str, Any]:
        """Returns the digests of the tables."""
        return {"tables": [table.digest for table in self.tables], "page_version": PAGE_VERSION}

    def place(self) -> Path:
        """Returns the folder of the page."""
        return self.work_folder / "experiments" / "paper-tables"

    def complete(self) -> bool:
        """Returns whether the page and all tables stand, newer than none of them."""
        return super().complete() and all(
            table.complete() and self._is_current(table) for table in self.tables
        )

    def _is_current(self, table: MakeTable) -> bool:
        """Returns whether the page was made after a table, which absent data make anew."""
        marker = Path(table.output().path)
        return marker.stat().st_mtime_ns <= Path(self.output().path).stat().st_mtime_ns

    def fill(self) -> None:
        """Writes the page and the files of all tables."""
        self.write_config()
        made = self._made()
        page = tables_page("The papers' tables", made)
        for name, text in (
            ("tables.md", markdown_page(page)),
            ("tables.html", html_page(page)),
            ("tables.csv", csv_lines(made)),
            ("tables.tex", "\n".join(map(latex, made))),
        ):
            write_bytes_atomically(self.folder / name, text.encode())
        folders = {one.name: str(task.folder) for one, task in zip(made, self.tables, strict=True)}
        write_json_atomically(self.folder / self.marker, {"tables": folders})

    def _made(self) -> list[ResultTable]:
        return [read_table(table.folder / table.marker) for table in self.tables]
