"""What two recorded runs differ in: configuration, data, results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from luigi.task_register import Register

from models.evaluation.comparison import Comparison, ComparisonConfig, Seeds, compare
from models.evaluation.scores import main_metric
from models.evaluation.statistics.resampling import Interval
from models.evaluation.task_result import Result, TaskResult
from pipeline.shards.manifests import DatasetManifest, read_dataset_manifest
from tasks.runs.made import WorkFolder
from tasks.runs.parameters import option_of
from tasks.runs.recorded.run_list import state_of
from tasks.runs.recorded.scored_encoders import (
    TRAINED,
    Pair,
    ScoredEncoder,
    name_of,
    pairs_of,
    scored_encoders,
)
from tasks.runs.records import Record, RecordedStage, Records
from tasks.runs.why.difference_words import differences_in_words
from tasks.runs.words import value_in_words


@dataclass(frozen=True, slots=True)
class ComparedEncoder:
    """Results of one encoder in both runs."""

    encoder: str
    """As it is asked for, with its changed representation and what tells it from its like."""
    scores: Mapping[str, tuple[Interval | None, Interval | None]]
    """Main score of each task in both; of the first seed."""
    comparison: Comparison | None
    """Over the tasks with the same items in both; None where there are none."""
    remark: str = ""
    """Why nothing is compared item by item."""


@dataclass(frozen=True, slots=True)
class RunDifference:
    """What two runs differ in."""

    first: Record
    second: Record
    parameters: Mapping[str, tuple[str, str]]
    """Options that differ -> their values in both."""
    machine: Mapping[str, tuple[str, str]]
    """Release, commit, machine and libraries that differ."""
    stages: Mapping[str, tuple[str, ...]]
    """Stages of one name whose configurations differ -> what differs, in words."""
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    """Stages that the other has none of that name for."""
    data: Mapping[str, tuple[str, str]]
    """Counts and checksums of sentences and trees that differ."""
    same_data: tuple[str, ...]
    """Stages of data that are the same in both."""
    results: tuple[ComparedEncoder, ...] = field(default=())
    left_out: tuple[str, ...] = ()
    """Sentences on encoders that the other run has no counterpart of."""
    states: tuple[str, str] = ("done", "done")
    """Of both, as `tasks.runs.recorded.run_list` has them."""

    def not_done(self) -> list[str]:
        """Returns a sentence on each run that is not done, whose results can lack."""
        said = []
        for record, state in zip((self.first, self.second), self.states, strict=True):
            if state != "done":
                failures = [f"{one.stage}: {one.sentence}" for one in record.last.failures[:1]]
                why = f" ({failures[0]})" if failures and state == "failed" else ""
                said.append(f"{record.name}: {state}{why}; what is not there is not compared")
        return said

    def to_dict(self) -> dict[str, Any]:
        """Returns it as JSON knows it."""
        own = {name: getattr(self, name) for name in ("parameters", "machine", "stages", "data")}
        return {
            "first": self.first.name,
            "second": self.second.name,
            "states": self.states,
            **own,
            "only_first": self.only_first,
            "only_second": self.only_second,
            "same_data": self.same_data,
            "results": [asdict(one) for one in self.results],
            "left_out": self.left_out,
        }


def difference_of(
    records: Records, first: str, second: str, *, all_encoders: bool = False
) -> RunDifference:
    """Returns what two runs differ in, as far as what they made is there.

    Args:
        records: of the work folder.
        first: name of a run.
        second: name of another.
        all_encoders: compares every encoder that both scored, not only the trained ones.

    Raises:
        ValueError: there is no such run, or both are the same one.
    """
    a, b = records.named(first), records.named(second)
    if a.digest == b.digest:
        raise ValueError(f"{first} and {second} are the same run; name two")
    names = {stage.name for stage in a.stages}, {stage.name for stage in b.stages}
    data, same = _data(records.work_folder, a, b)
    scored = [scored_encoders(records.work_folder, record) for record in (a, b)]
    called = [list(dict.fromkeys(one.called for one in side)) for side in scored]
    shared = [name for name in called[0] if name in called[1]]
    shared = shared if all_encoders else shared[:1]  # the trained ones, where there are such
    alone = _left_out(scored[0], scored[1], (first, second))
    return RunDifference(
        first=a,
        second=b,
        parameters=_parameters(a, b),
        machine=_unequal(_machine(a), _machine(b)),
        stages=_stages(WorkFolder(records.work_folder), a, b),
        only_first=tuple(sorted(names[0] - names[1])),
        only_second=tuple(sorted(names[1] - names[0])),
        data=data,
        same_data=same,
        results=tuple(_results(scored[0], scored[1], shared)),
        left_out=tuple(why for name, why in alone if all_encoders or name in (TRAINED, *shared)),
        states=(state_of(records, a), state_of(records, b)),
    )


def _parameters(a: Record, b: Record) -> dict[str, tuple[str, str]]:
    default = "default"
    sides = [
        {option_of(name): value_in_words(value, (name,)) for name, value in one.parameters.items()}
        for one in (a, b)
    ]
    names = dict.fromkeys([*sides[0], *sides[1]])
    told = {name: (sides[0].get(name, default), sides[1].get(name, default)) for name in names}
    told = {name: pair for name, pair in told.items() if pair[0] != pair[1]}
    return ({} if a.stage == b.stage else {"stage": (a.stage, b.stage)}) | told


def _machine(record: Record) -> dict[str, str]:
    last = record.last
    return {"host": last.host, "commit": last.commit, **last.versions}


def _unequal(a: Mapping[str, str], b: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    names = dict.fromkeys([*a, *b])
    pairs = {name: (a.get(name, "none"), b.get(name, "none")) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _stages(work: WorkFolder, a: Record, b: Record) -> dict[str, tuple[str, ...]]:
    """Returns in what stages of the same name differ themselves, not by what they are made from."""
    others = {(stage.name, stage.about): stage for stage in b.stages}
    told: dict[str, dict[str, None]] = {}
    for stage in a.stages:
        other = others.get((stage.name, stage.about))
        if other is None or other.digest == stage.digest:
            continue
        made = [work.made.get(one.digest) for one in (stage, other)]
        if made[0] is not None and made[1] is not None:
            names = {name for name, _ in Register.get_task_cls(stage.name).get_params()}
            found = differences_in_words(made[0], made[1], names, set(work.made))
            told.setdefault(stage.name, {}).update(dict.fromkeys(found))
    return {name: tuple(sentences) for name, sentences in told.items() if sentences}


def _data(
    work_folder: Path, a: Record, b: Record
) -> tuple[dict[str, tuple[str, str]], tuple[str, ...]]:
    """Returns what the shards of both differ in, and which stages of shards are the same."""
    others = {(stage.name, stage.about): stage for stage in b.stages}
    told: dict[str, tuple[str, str]] = {}
    same: dict[str, None] = {}
    for stage in a.stages:
        other = others.get((stage.name, stage.about))
        if other is None:
            continue
        facts = [_facts(work_folder, one) for one in (stage, other)]
        if stage.digest == other.digest and facts[0]:
            same[stage.name] = None
        elif facts[0] and facts[1]:
            found = _unequal(facts[0], facts[1])
            told |= {f"{stage.name}, {name}": pair for name, pair in found.items()}
    return told, tuple(same)


def _facts(work_folder: Path, stage: RecordedStage) -> dict[str, str]:
    """Returns counts and the text's checksum of a stage of shards; nothing of another."""
    for path in stage.folders:
        with suppress(OSError, ValueError):
            return dict(_of_manifest(read_dataset_manifest(work_folder / path)))
    return {}


def _of_manifest(manifest: DatasetManifest) -> Iterator[tuple[str, str]]:
    yield "sentences", f"{manifest.rows:,}"
    yield "shards", f"{len(manifest.shards):,}"
    for reason, count in manifest.drops.items():
        yield f"refused: {reason.replace('_', ' ')}", f"{count:,}"
    text = manifest.config.get("corpus", {})
    if isinstance(text, Mapping) and "sha256" in text:
        yield "sha256 of the text", value_in_words(text["sha256"])


def _results(
    first: Sequence[ScoredEncoder], second: Sequence[ScoredEncoder], called: Sequence[str]
) -> Iterator[ComparedEncoder]:
    for name in called:
        pairs, _, _ = pairs_of(*_called(name, first, second))
        for pair in pairs:
            for first_seeds, second_seeds in _on_tasks(pair):
                if _digests(first_seeds) != _digests(second_seeds):
                    yield _compared(pair.name, first_seeds, second_seeds)


def _on_tasks(pair: Pair) -> Iterator[tuple[Seeds, Seeds]]:
    """Yields the seeds of both with their results on the tasks that the same seeds were scored on.

    A run may score one of its seeds on more tasks than the others.
    """
    sides = pair.first.seeds, pair.second.seeds
    in_all = [dict.fromkeys(task for one in side for task in one) for side in sides]
    groups: dict[tuple[bool, ...], list[str]] = {}
    for task in (task for task in in_all[0] if task in in_all[1]):
        groups.setdefault(tuple(task in one for side in sides for one in side), []).append(task)
    for tasks in groups.values():
        first, second = (
            [{task: one[task] for task in tasks} for one in side if tasks[0] in one]
            for side in sides
        )
        yield first, second


def _left_out(
    first: Sequence[ScoredEncoder], second: Sequence[ScoredEncoder], names: tuple[str, str]
) -> Iterator[tuple[str, str]]:
    """Yields what encoders are called, and a sentence on those without a counterpart."""
    for called in dict.fromkeys(one.called for one in (*first, *second)):
        sides = _called(called, first, second)
        _, *alone = pairs_of(*sides)
        for rest, alike, other in zip(alone, sides, reversed(names), strict=True):
            if rest:
                more = f" and {len(rest) - 1} more" if len(rest) > 1 else ""
                yield called, f"{name_of(rest[0], alike)}{more}: {other} has no counterpart"


def _called(
    name: str, *sides: Sequence[ScoredEncoder]
) -> tuple[list[ScoredEncoder], list[ScoredEncoder]]:
    first, second = ([one for one in side if one.called == name] for side in sides)
    return first, second


def _digests(seeds: Seeds) -> set[tuple[str, str]]:
    return {
        (result.setup.encoder.digest, result.data.digest)
        for results in seeds
        for result in results.values()
        if isinstance(result, TaskResult)
    }


def _compared(name: str, first: Seeds, second: Seeds) -> ComparedEncoder:
    scores = {task: (_main(first[0][task]), _main(second[0][task])) for task in first[0]}
    alike = [task for task in scores if _same_items(first[0][task], second[0][task])]
    if not alike:
        return ComparedEncoder(name, scores, None, "scored on other items: no pairs to compare")
    sides = [[{t: one[t] for t in alike} for one in side] for side in (first, second)]
    try:
        return ComparedEncoder(name, scores, compare(sides[0], sides[1], ComparisonConfig()))
    except ValueError as error:
        return ComparedEncoder(name, scores, None, str(error))


def _main(result: Result) -> Interval | None:
    return result.scores[main_metric(result.task)] if isinstance(result, TaskResult) else None


def _same_items(one: Result, other: Result) -> bool:
    both = isinstance(one, TaskResult) and isinstance(other, TaskResult)
    return both and one.data.digest == other.data.digest  # type: ignore[union-attr]
