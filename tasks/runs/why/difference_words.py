"""What differs between the configuration of a finished folder and that of a stage, in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import luigi
from luigi.task_register import Register

from models.experiments.configs import WIDTH
from pipeline.shards.schema import SCHEMA_VERSION
from tasks.artefact import Artefact
from tasks.experiments.parameters import TableParameters
from tasks.runs.differences import ABSENT, Difference, differences_of, strings_in
from tasks.runs.made import Made
from tasks.runs.words import field_in_words, value_in_words

_MOST_FIELDS = 6
"""That are told of one stage."""


@dataclass(frozen=True, slots=True)
class Told:
    """What differs, in words."""

    sentences: tuple[str, ...]
    because: tuple[str, ...] = ()
    """Ids of stages that would run, too, and give another thing than before."""


@dataclass(frozen=True, slots=True)
class DifferenceWords:
    """Puts into words what differs of a task.

    Args:
        task: of which stage it is.
        made: what stands in the work folder, by digest.
        stage_of_digest: ids of the run's stages, by digest.
        wanted: ids of the stages that would run.
        parameters_of: parameters of stages that recorded runs had, by digest.
        asked: what the user named, whose options are theirs.
    """

    task: Artefact
    made: Mapping[str, Made]
    stage_of_digest: Mapping[str, str]
    wanted: Collection[str]
    parameters_of: Mapping[str, Mapping[str, Any]]
    asked: luigi.Task | None = None

    def is_of_digests(self, difference: Difference) -> bool:
        """Returns whether a field names stages by their digests."""
        return bool(self._digests(difference.before) or self._digests(difference.after))

    def told(self, before: Made, after: Mapping[str, Any]) -> Told:
        """Returns what a configuration differs in from that of a finished folder."""
        found = differences_of(before.config, after)
        fields = _without_consequences([one for one in found if not self.is_of_digests(one)])
        own = [one for one in fields if ABSENT not in (one.before, one.after)]
        sentences = [*self._of_release(before), *self._of_preset(before)]
        sentences += [self._in_words(one) for one in own[:_MOST_FIELDS]]
        if len(own) > _MOST_FIELDS:
            sentences.append(f"and {len(own) - _MOST_FIELDS} more fields")
        because: dict[str, None] = {}
        others: list[str] = []
        for one in found:
            if self.is_of_digests(one):
                changed = self._stages_behind(one)
                because |= dict.fromkeys(changed)
                others += [] if changed else self._of_digests(one)
        if not sentences and not because:  # what comes or goes along with another change is no news
            sentences = [*others, *map(self._in_words, fields)][:_MOST_FIELDS]
        return Told(tuple(dict.fromkeys(sentences)), tuple(because))

    def _in_words(self, one: Difference) -> str:
        parameters = {name for name, _ in self.task.get_params()}
        name = field_in_words(one.path, parameters)
        if self._is_of_table_width(one):
            return _changed("--width", one)
        changes = getattr(self.task, "changes", None)
        if name.endswith("(--changes)") and changes is not None and one.path[-1] not in changes:
            name = name.replace("(--changes)", f"(of --preset {self.task.preset})")
        if self.asked is not self.task:
            name = name.removesuffix(" (--representation-changes)")  # those of a table's row
        return _changed(name, one)

    def _is_of_table_width(self, one: Difference) -> bool:
        """Returns whether a field of a training is set by an option of the table asked for."""
        of_training = one.path == ("training", WIDTH) and self.asked is not self.task
        in_grid = WIDTH in getattr(self.asked, "grid", ())
        return of_training and isinstance(self.asked, TableParameters) and not in_grid

    def _of_release(self, before: Made) -> list[str]:
        if before.schema_version == SCHEMA_VERSION:
            return []
        return [f"schema version: {before.schema_version} → {SCHEMA_VERSION}"]

    def _of_preset(self, before: Made) -> list[str]:
        """Returns that another preset is asked for, where the earlier one is recorded."""
        known, now = self.parameters_of.get(before.digest), getattr(self.task, "preset", None)
        if known is None or now is None:
            return []
        default = type(self.task).preset
        then = known.get("preset", getattr(default, "_default", default))
        return [] if then == now else [f"--preset: {then} → {now}"]

    def _digests(self, value: Any) -> list[str]:
        return [s for s in strings_in(value) if s in self.stage_of_digest or s in self.made]

    def _stages_behind(self, one: Difference) -> list[str]:
        """Returns the stages that would run and are named now, and were not before."""
        named = set(self._digests(one.before))
        now = [self.stage_of_digest.get(d) for d in self._digests(one.after) if d not in named]
        return [stage for stage in now if stage is not None and stage in self.wanted]

    def _of_digests(self, one: Difference) -> list[str]:
        """Returns how what a stage is made from differs, though it is there."""
        before, after = self._digests(one.before), self._digests(one.after)
        name = " ".join(one.path).replace("_", " ")
        gone = [self.made[digest] for digest in before if digest in self.made]
        come = [self.made[d] for d in after if d in self.made and d not in before]
        sentences = []
        for new in come:
            old = next((made for made in gone if made.stage == new.stage), None)
            if old is not None:
                names = {name for name, _ in Register.get_task_cls(new.stage).get_params()}
                told = differences_in_words(old, new, names)
                sentences += [f"made from another {new.stage}: {one}" for one in told]
        if sentences:
            return sentences
        if one.after is ABSENT or one.before is ABSENT:
            return [f"{name}: {'no longer' if one.after is ABSENT else 'now'} part of it"]
        return [f"{name}: {len(before)} before, {len(after)} now"]


def differences_in_words(
    before: Made, after: Made, parameters: Collection[str], digests: Collection[str] = ()
) -> list[str]:
    """Returns in what two finished folders of a stage differ.

    Args:
        before: one of them.
        after: the other.
        parameters: names of the stage's.
        digests: of stages; fields that name some are left out.
    """
    found = [
        one
        for one in _without_consequences(differences_of(before.config, after.config))
        if not any(s in digests for value in one[1:] for s in strings_in(value))
    ]
    told = [_changed(field_in_words(one.path, parameters), one) for one in found[:_MOST_FIELDS]]
    more = len(found) - len(told)
    return [*told, f"and {more} more fields"] if more else told


def _changed(name: str, one: Difference) -> str:
    then, now = (
        "none" if value is ABSENT else value_in_words(value, one.path)
        for value in (one.before, one.after)
    )
    if name == "the text":
        return f"the text differs: sha256 {then} → {now}"
    return f"{name}: {then} → {now}"


def _without_consequences(found: list[Difference]) -> list[Difference]:
    """Returns the differences but those that another source of text brings along."""
    if any(one.path == ("corpus", "source") for one in found):
        return [one for one in found if one.path[0] != "corpus" or one.path[1] == "source"]
    return found
