"""The encoders that a run scored, with their seeds, and their counterparts in another run.

Seeds are trainings that differ in nothing but the seed. What else they were asked for with, such as
another text or a hidden size, makes another encoder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.encoding.encoder_names import OF_A_RUN
from models.evaluation.task_result import Result, results_by_file
from tasks.runs.records import Record, RecordedStage
from tasks.runs.words import value_in_words

TRAINED = "trained"
"""What encoders are called that a run trains, if no other name is asked for."""

_SCORING = ("EvaluateEncoder", "EvaluateTask")
"""Stages that score one encoder."""
_SEED = re.compile(rf"(?P<called>{'|'.join((*OF_A_RUN, 'random'))})-\d+")
_OTHERWISE = ("encoder", "representation_changes")
"""Parameters that are in what an encoder is called."""
_OF_NO_ENCODER = {"seed", "further_seeds", "task", "tasks", "derived", "senteval_data"}
"""Parameters that tell seeds, or what an encoder is scored on."""

Settings = Mapping[tuple[str, ...], str]
"""Name of a parameter, and of a field in it if it has such -> its value as JSON."""


@dataclass(frozen=True, slots=True)
class ScoredEncoder:
    """An encoder that a run scored."""

    called: str
    """As it is asked for, with its changed representation and without its seed."""
    settings: Settings
    """What else was asked for where it is made and scored, as far as it is not the default."""
    seeds: tuple[Mapping[str, Result], ...]
    """Its results by task, a mapping a seed."""


@dataclass(frozen=True, slots=True)
class Pair:
    """An encoder that two runs scored."""

    name: str
    """What it is called, with what tells it from others of its run."""
    first: ScoredEncoder
    second: ScoredEncoder


def scored_encoders(work_folder: Path, record: Record) -> list[ScoredEncoder]:
    """Returns what a run scored, as far as the results are there; the trained ones come first."""
    found: dict[tuple[str, str], dict[str, dict[str, Result]]] = {}
    settings: dict[tuple[str, str], Settings] = {}
    for stage in record.stages:
        if stage.name not in _SCORING and "encoder" not in stage.parameters:
            continue
        asked = dict(_settings(stage.parameters))
        key = (_called(stage), json.dumps(sorted(asked.items())))
        for result in _results(work_folder, stage):
            settings[key] = asked
            seeds = found.setdefault(key, {})
            seeds.setdefault(result.setup.encoder.digest, {})[result.task.name] = result
    ordered = sorted(found, key=lambda key: (key[0] != TRAINED, key[0]))
    return [ScoredEncoder(key[0], settings[key], tuple(found[key].values())) for key in ordered]


def pairs_of(
    first: Sequence[ScoredEncoder], second: Sequence[ScoredEncoder]
) -> tuple[list[Pair], list[ScoredEncoder], list[ScoredEncoder]]:
    """Returns the encoders of two runs that are called alike in pairs, and those without a pair.

    A pair was asked for with the same settings. Where none was, the settings need only be the same
    in what tells encoders of one run apart, if the same does in both runs.

    Args:
        first: encoders of one run that are called alike.
        second: those of another that are called so, too.
    """
    pairs: list[Pair] = []
    rest_first, rest_second = list(first), list(second)
    apart = _apart(first)
    ways = [None, apart] if apart == _apart(second) else [None]
    for names in ways:
        for one in tuple(rest_first):
            for other in tuple(rest_second):
                if _only(one.settings, names) == _only(other.settings, names):
                    pairs.append(Pair(name_of(one, first), one, other))
                    rest_first.remove(one)
                    rest_second.remove(other)
                    break
    return pairs, rest_first, rest_second


def name_of(encoder: ScoredEncoder, alike: Sequence[ScoredEncoder]) -> str:
    """Returns what an encoder is called, with what tells it from others that are called so."""
    words = []
    for path in sorted(_apart(alike)):
        value = json.loads(encoder.settings[path]) if path in encoder.settings else "default"
        words.append(f"{path[-1].replace('_', ' ')} {value_in_words(value)}")
    return f"{encoder.called} ({'; '.join(words)})" if words else encoder.called


def _called(stage: RecordedStage) -> str:
    encoder = str(stage.parameters.get("encoder", TRAINED))
    if found := _SEED.fullmatch(encoder):
        encoder = found["called"]
    changes = stage.parameters.get("representation_changes")
    return f"{encoder} {json.dumps(changes, sort_keys=True)}" if changes else encoder


def _settings(
    parameters: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, value in parameters.items():
        if not above and (name in _OTHERWISE or name in _OF_NO_ENCODER):
            continue
        if isinstance(value, Mapping):
            yield from _settings(value, (*above, name))
        else:
            yield (*above, name), json.dumps(value, sort_keys=True)


def _results(work_folder: Path, stage: RecordedStage) -> Iterator[Result]:
    for path in stage.folders:
        with suppress(OSError, ValueError):
            yield from results_by_file(work_folder / path).values()


def _apart(encoders: Sequence[ScoredEncoder]) -> set[tuple[str, ...]]:
    """Returns the settings in which encoders differ."""
    names = {name for one in encoders for name in one.settings}
    return {name for name in names if len({one.settings.get(name) for one in encoders}) > 1}


def _only(settings: Settings, names: set[tuple[str, ...]] | None) -> Settings:
    if names is None:
        return settings
    return {name: value for name, value in settings.items() if name in names}
