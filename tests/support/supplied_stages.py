"""Stages that stand on what no stage makes.

treeviews run --module tests.support.supplied_stages …, or by `luigi --module`.
"""

from __future__ import annotations

from pathlib import Path

import luigi

import treeviews.tasks  # noqa: F401 - teaches Luigi
from treeviews.tasks.artefact import ReportingTask


class Supplied(luigi.ExternalTask):
    folder = luigi.PathParameter()

    def output(self) -> luigi.LocalTarget:
        return luigi.LocalTarget(str(self.folder / "supplied.txt"))


class MadeOfSupplied(ReportingTask):
    folder = luigi.PathParameter()
    work_folder = luigi.PathParameter(default=Path("work"), significant=False)

    def requires(self) -> Supplied:
        supplied: Supplied = self.clone(Supplied)
        return supplied

    def output(self) -> luigi.LocalTarget:
        return luigi.LocalTarget(str(self.folder / "made.txt"))

    def run(self) -> None:
        Path(self.output().path).write_text("made", encoding="utf-8")
