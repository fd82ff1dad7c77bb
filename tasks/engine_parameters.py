"""Parameters that say where shard jobs run and what machines share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import luigi

from treeviews.pipeline.base.bundled import how_to_install, parser_folder
from treeviews.pipeline.base.foreign_text import without_secrets


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


class ChoiceParameter(luigi.ChoiceParameter):
    """One of several names; none at all where that is the default."""

    def __init__(self, *arguments: Any, choices: Sequence[str], **named: Any) -> None:
        super().__init__(*arguments, choices=choices, **named)
        self.choices = list(choices)

    def parse(self, x: str) -> str | None:
        """Returns the name; None of the empty text."""
        return super().parse(x) if x else None

    def serialize(self, x: str | None) -> str:
        """Returns the text that is parsed as the name."""
        return x or ""

    def normalize(self, x: str | None) -> str | None:
        """Returns a name that there is."""
        return None if x is None else super().normalize(x)


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

    engine = ChoiceParameter(
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


def ray_engine() -> ModuleType:
    """Returns what runs jobs on Ray; imported only where it is asked for.

    Raises:
        ModuleNotFoundError: Ray is not installed; names the remedy.
    """
    try:
        from treeviews.tasks import ray_engine
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise ModuleNotFoundError(
            f"engine is ray, which is not installed: {how_to_install('ray')} here and on the "
            "cluster's machines, or leave engine at local"
        ) from error
    return ray_engine
