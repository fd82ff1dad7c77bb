"""Small stages whose runs are shown: one with parts that come up while it runs, one that may fail.

python -m luigi --module tests.support.shown_stages WholeRun --folder … --local-scheduler
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import luigi

import treeviews.tasks  # noqa: F401 - teaches Luigi
from treeviews.pipeline.base.job import Rated
from treeviews.tasks.artefact import ReportingTask


class _Small(ReportingTask):
    folder = luigi.PathParameter()
    seconds = luigi.FloatParameter(default=0.0, significant=False)
    fails = luigi.BoolParameter(significant=False)

    def output(self) -> luigi.LocalTarget:
        return luigi.LocalTarget(str(self.folder / self._name()))

    def _name(self) -> str:
        return self.task_family

    def _done(self) -> None:
        Path(self.output().path).write_text("done", encoding="utf-8")


class MadeOfParts(_Small):
    def run(self) -> None:
        for step in range(1, 11):
            time.sleep(self.seconds / 10)
            self.report_progress(step / 10, Rated(f"[red]{step}[/red] of 10 words", 5.0))
        self._done()


class MadeAlone(_Small):
    about = luigi.Parameter(default="")

    def _name(self) -> str:
        return f"alone-{self.about}"

    def requires(self) -> MadeOfParts:
        made: MadeOfParts = self.clone(MadeOfParts)
        return made

    def run(self) -> None:
        sys.stderr.write("a library says something\n")
        warnings.warn("and warns", stacklevel=1)
        if self.fails:
            raise RuntimeError("the wheel came off; put it on")
        self._done()

    def headline(self) -> list[str]:
        return ["The result is 42."]


class WholeRun(_Small, luigi.WrapperTask):
    def requires(self) -> list[MadeAlone]:
        return [self.clone(MadeAlone, about=about) for about in ("left", "right")]

    def headline(self) -> list[str]:
        return ["The result is 42."]
