"""Stages that write a few bytes, for tests of what is looked at before and without a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import luigi

from treeviews.tasks.artefact import Artefact


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
