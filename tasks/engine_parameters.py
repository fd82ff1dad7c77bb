"""Parameters that say where shard jobs run and what machines share."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import luigi

from pipeline.base.bundled import parser_folder
from pipeline.base.foreign_text import without_secrets


class AddressParameter(luigi.Parameter):
    """An address, which Luigi's logs and pages show without its login and tokens.

    So two tasks that differ in a token alone are one for Luigi, as they are for us. Luigi makes
    tasks anew from what it shows, such as those that another task yields: the whole value is kept
    in memory for them.
    """

    _whole: ClassVar[dict[str, str]] = {}
    """What is shown -> the last value of a task that is shown so."""

    def normalize(self, x: str) -> str:
        """Returns a task's value, which is kept."""
        if (shown := without_secrets(x)) != x:
            self._whole[shown] = x
        return x

    def serialize(self, x: str) -> str:
        """Returns the value as Luigi names the task by it."""
        return without_secrets(x)

    def parse(self, x: str) -> str:
        """Returns the whole value of one that was shown, and any other as it is."""
        return self._whole.get(x, x)


class Sha256Parameter(luigi.Parameter):
    """A sha256 in hexadecimal, however its letters are typed."""

    def normalize(self, x: str) -> str:
        """Returns it in lower case, so that the same file has one digest and one place."""
        return x.lower()


class ParserParameter(luigi.PathParameter):
    """A parser: a path, or the name of one that ships, which stands for its folder."""

    def normalize(self, x: str | Path) -> Path:
        """Returns the path, so that a name and its folder are one parser of one digest."""
        return parser_folder(x)


class EngineParameters:
    """Where shards are made, and where other machines find them."""

    engine = luigi.ChoiceParameter(
        default="local",
        choices=["local", "ray"],
        significant=False,
        description="What runs the shard jobs: local, as many as Luigi has workers; ray: a Ray "
        "cluster, which needs ray.",
    )
    storage = AddressParameter(
        default="",
        significant=False,
        description="Folder or URL (s3://bucket/prefix) with the sentence and parsed shards that "
        "machines share; what is there is not made again. By default the work folder, which "
        "machines of a Ray cluster must then all reach under its path.",
    )
    ray_address = luigi.Parameter(
        default="auto",
        significant=False,
        description="With engine=ray: host:port of the cluster's head; auto: the cluster that this "
        "machine is part of; local: one of this machine alone, for the time of a stage.",
    )
    gpus_per_job = luigi.FloatParameter(
        default=0.0,
        significant=False,
        description="With engine=ray: part of a GPU that a shard job takes; 0.25: four share one.",
    )
