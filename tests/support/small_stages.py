"""Small stages whose runs are shown, looked at before they run, or wait for what nobody makes.

treeviews run WholeRun --module tests.support.small_stages --folder …
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import luigi

import treeviews.tasks  # noqa: F401 - teaches Luigi
from treeviews.pipeline.base.job import Rated
from treeviews.tasks.artefact import Artefact, ReportingTask


class Grain(Artefact):
    """Writes its marker."""

    kind = luigi.Parameter(default="rye")
    coarse = luigi.BoolParameter()
    threads = luigi.IntParameter(default=1, significant=False)

    def content(self) -> dict[str, Any]:
        return {"grain": {"kind": self.kind, "coarse": self.coarse}, "milling_version": 1}

    def place(self) -> Path:
        return Path(self.work_folder) / "grain" / str(self.kind)

    def fill(self) -> None:
        if self.kind == "mouldy":
            raise ValueError("the grain is mouldy; take another kind")
        self.write_config()
        (self.folder / self.marker).write_text(json.dumps({"seconds": 2.5}), encoding="utf-8")


class Bread(Artefact):
    """Stands on grain of two kinds, one of them asked for twice."""

    kind = luigi.Parameter(default="rye")
    coarse = luigi.BoolParameter()
    salt = luigi.FloatParameter(default=2.0)

    def requires(self) -> dict[str, list[Grain]]:
        wheat = self.clone(Grain, kind="wheat", coarse=False)
        return {"grains": [self.clone(Grain), wheat, self.clone(Grain, threads=2)]}

    def content(self) -> dict[str, Any]:
        digests = [task.digest for task in self.requires()["grains"]]
        return {"grains": digests, "salt": self.salt}

    def place(self) -> Path:
        return Path(self.work_folder) / "bread" / "loaf"

    def fill(self) -> None:
        self.write_config()
        (self.folder / self.marker).write_text("{}", encoding="utf-8")


class Meal(luigi.WrapperTask):
    """Asks for bread."""

    work_folder = luigi.PathParameter(significant=False)
    kind = luigi.Parameter(default="rye")
    coarse = luigi.BoolParameter()
    salt = luigi.FloatParameter(default=2.0)

    def requires(self) -> Bread:
        bread: Bread = self.clone(Bread)
        return bread


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
