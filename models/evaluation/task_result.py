"""One JSON file per encoder and task: its scores, and the predictions by which it is compared.

A task whose data is absent has a file, too, which says so: a table lists it and never drops it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from treeviews.models.evaluation.resampling import Interval, Resampling
from treeviews.models.evaluation.scores import Outcome, score_intervals
from treeviews.models.evaluation.task_registry import EvaluationTask, TaskData
from treeviews.pipeline.base.digest import DIGEST_CHARACTERS
from treeviews.pipeline.base.json_files import read_json, write_sealed_json
from treeviews.pipeline.base.settings import to_json

FORMAT = "treeviews task result"
FORMAT_VERSION = 1
REMEDY = "delete it and evaluate again"

COSINE = "cosine"
"""What answers where nothing is learnt."""
SHARED_SETTINGS = ("batch_items", "protocol_version")
"""Settings that the answers to every task depend on, learnt or not."""
ANOTHER_VERSION = "version of the protocols"
"""The `Setup.difference` that evaluating again removes."""

ARRAY_TYPES = ("|u1", "<i2", "<f8")
"""How numbers are stored, narrowest first; an array takes the first that holds it exactly."""

_ARRAYS = {"predicted": np.float64, "gold": np.float64, "groups": np.int64, "clusters": np.int64}
"""Of the predictions; the last one only where there are clusters."""


@dataclass(frozen=True, slots=True)
class EncoderIdentity:
    """Who answered; encoders of one name that differ in digest are seeds of one another."""

    name: str
    digest: str
    """Of everything that determines its embeddings."""
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """What was evaluated, and how."""

    encoder: EncoderIdentity
    representation: Mapping[str, Any] = field(default_factory=dict)
    """The post-processing of the embeddings, resolved."""
    classifier: Mapping[str, Any] = field(default_factory=dict)
    """What turns representations into answers, resolved: the configuration of ``classifier``, or
    `COSINE` where nothing is learnt, with `SHARED_SETTINGS`."""
    run: Mapping[str, Any] = field(default_factory=dict)
    """Where it was made: device, library versions; determines nothing."""

    def how_used(self) -> tuple[str, str]:
        """Returns representation and classifier in one comparable form each."""
        representation, classifier = dict(self.representation), dict(self.classifier)
        return json.dumps(representation, sort_keys=True), json.dumps(classifier, sort_keys=True)

    @property
    def learns(self) -> bool:
        """Whether a classifier of ours is fitted."""
        return str(self.classifier.get("classifier", COSINE)) != COSINE

    def difference(self, other: Setup) -> str | None:
        """Returns in words what keeps two results from being of one evaluation, or None.

        Of a task that learns and one that does not, only what both depend on must be the same.
        """
        if self.encoder != other.encoder:
            same = self.encoder.digest == other.encoder.digest
            return "name or seed of the encoder" if same else "encoder"
        if self.how_used()[0] != other.how_used()[0]:
            return "representation"
        first, second = self.classifier, other.classifier
        names = {*first, *second} if self.learns == other.learns else SHARED_SETTINGS
        own, others = (json.loads(setup.how_used()[1]) for setup in (self, other))
        changed = sorted(name for name in names if own.get(name) != others.get(name))
        if changed == ["protocol_version"]:
            return ANOTHER_VERSION
        return f"classifier ({', '.join(changed)})" if changed else None


@dataclass(frozen=True, slots=True)
class DataRecord:
    """Which sentences and answers were used."""

    digest: str
    """Of sentences, items and gold answers: equal digests mean the same items in the same order."""
    sentences_digest: str
    files: Mapping[str, str] = field(default_factory=dict)
    """sha256 of each file, by its path within the data folder."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    replaced: Mapping[str, int] = field(default_factory=dict)
    derived_from: str = ""
    """The corpus that the task was derived from; empty for the published task."""
    num_sentences: int = 0
    """Distinct sentences of the dataset."""
    num_refused: int = 0
    """Of these, how many the encoder could not take; they were scored as zeros."""
    protocol: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ``ProtocolConfig`` that the data ask for, where the classifier takes them."""

    @property
    def refused_share(self) -> float:
        """Share of the distinct sentences that the encoder could not take."""
        return self.num_refused / max(1, self.num_sentences)

    @classmethod
    def of(cls, data: TaskData, num_refused: int = 0) -> DataRecord:
        """Returns the record of a task's data."""
        sentences = hashlib.sha256(json.dumps(data.sentences).encode())
        content = sentences.copy()
        if data.protocol or data.units is not None:
            units = [] if data.units is None else data.units.tolist()
            content.update(json.dumps([dict(data.protocol), units], sort_keys=True).encode())
        for name, items in sorted(data.splits.items()):
            content.update(f"{name} {len(items)} {len(items.sentences) > 1}".encode())
            for column in (*items.sentences, items.labels):
                content.update(np.asarray(column, dtype="<f8").tobytes())
        return cls(
            content.hexdigest()[:DIGEST_CHARACTERS],
            sentences.hexdigest()[:DIGEST_CHARACTERS],
            dict(data.files),
            dict(data.left_out),
            dict(data.replaced),
            data.derived_from,
            len(data.sentences),
            num_refused,
            dict(data.protocol),
        )


@dataclass(frozen=True, slots=True, eq=False)
class TaskResult:
    """What one encoder reached on one task, and how."""

    task: EvaluationTask
    setup: Setup
    data: DataRecord
    outcome: Outcome
    scores: Mapping[str, Interval]
    resampling: Resampling
    """How the intervals were made."""
    seconds: Mapping[str, float]
    """By phase, such as ``embed`` and ``fit``."""


@dataclass(frozen=True, slots=True)
class AbsentResult:
    """A task that could not be scored because its data is not there."""

    task: EvaluationTask
    setup: Setup
    reason: str
    """What is missing and the remedy."""


Result = TaskResult | AbsentResult
Record = TypeVar("Record")


def scored_results(results: Mapping[str, Result]) -> dict[str, TaskResult]:
    """Returns those of the tasks that are not absent."""
    return {task: result for task, result in results.items() if isinstance(result, TaskResult)}


def corpora_of(results: Iterable[Result]) -> dict[str, str]:
    """Returns the corpus of each derived task among results, by the task's name."""
    return {
        result.task.name: result.data.derived_from
        for result in results
        if isinstance(result, TaskResult) and result.data.derived_from
    }


def scored(
    task: EvaluationTask,
    setup: Setup,
    data: DataRecord,
    outcome: Outcome,
    *,
    seconds: Mapping[str, float],
) -> TaskResult:
    """Returns the result of an outcome, with its scores and their intervals.

    Raises:
        ValueError: the predictions do not fit the task; names it.
    """
    how = Resampling()
    scores = score_intervals(task, outcome.predictions, how)
    return TaskResult(task, setup, data, outcome, scores, how, seconds)


def check_same_data(results: Sequence[TaskResult]) -> None:
    """Refuses results of a task on different data.

    Raises:
        ValueError: names the task and the encoders.
    """
    for result in results:
        if result.data.digest != results[0].data.digest:
            raise ValueError(
                f"{result.task.name}: scored on other data for {result.setup.encoder.name} than "
                f"for {results[0].setup.encoder.name}; evaluate both on the same files"
            )


def check_seeds(setups: Sequence[Setup]) -> None:
    """Refuses an encoder that is given twice among its seeds.

    Raises:
        ValueError: names it.
    """
    digests = [setup.encoder.digest for setup in setups]
    for setup in setups:
        if digests.count(setup.encoder.digest) > 1:
            raise ValueError(
                f"the encoder {setup.encoder.name} of digest {setup.encoder.digest} is given "
                "twice; give each seed once"
            )


def result_path(folder: Path, task: EvaluationTask) -> Path:
    """Returns where the result of a task stands in an encoder's folder."""
    return folder / f"{task.name}.json"


def write_result(path: Path, result: Result) -> None:
    """Writes a result; the file appears whole or not at all."""
    value = to_json(result)
    if isinstance(result, TaskResult):
        predictions = result.outcome.predictions
        arrays = {name: getattr(predictions, name) for name in _ARRAYS}
        packed = {name: _packed(array) for name, array in arrays.items() if array is not None}
        value["outcome"]["predictions"] = {**packed, "group_names": list(predictions.group_names)}
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"format": FORMAT, "format_version": FORMAT_VERSION}
    write_sealed_json(path, {**header, "absent": isinstance(result, AbsentResult), **value})


def read_result(path: Path) -> Result:
    """Returns a result.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a result of this version, or a damaged one; names the file and the remedy.
    """
    return _result(path, read_json(path, remedy=REMEDY))


def _result(path: Path, value: Any) -> Result:
    if not _is_result(value):
        raise ValueError(f"{path}: not a task result; give a file that the evaluation wrote")
    if value.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{path}: a task result of version {value.get('format_version')}, this release reads "
            f"{FORMAT_VERSION}; evaluate again or install the release that wrote it"
        )
    if value.get("absent"):
        return validated(AbsentResult, path, value, REMEDY)
    try:
        packed = value["outcome"]["predictions"]
        arrays = {
            name: _unpacked(packed[name]).astype(kind)
            for name, kind in _ARRAYS.items()
            if name in packed
        }
        outcome = {**value["outcome"], "predictions": {**packed, **arrays}}
    except (LookupError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(f"{path}: its predictions cannot be read ({error}); {REMEDY}") from error
    return validated(TaskResult, path, {**value, "outcome": outcome}, REMEDY)


def validated(kind: type[Record], path: Path, value: Any, remedy: str) -> Record:
    """Returns a dataclass of its JSON.

    Raises:
        ValueError: it does not fit; names the file, the field and the remedy.
    """
    from pydantic import ValidationError

    try:
        record: Record = _adapter(cast(Hashable, kind)).validate_python(value)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise ValueError(f"{path}: damaged, see {place}; {remedy}") from error
    return record


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def read_results(folder: Path) -> dict[str, Result]:
    """Returns the results in an encoder's folder by the task's name, sorted.

    Other JSON files that stand there are passed over.

    Raises:
        FileNotFoundError: no such folder, or no result in it.
        ValueError: as `read_result`, two files of one task, or results that are not of one
            evaluation; names both files and the remedy.
    """
    by_file = results_by_file(folder)
    if not by_file:
        raise FileNotFoundError(f"{folder}: holds no task result; run the evaluation first")
    # One that learns says the most of how results were made.
    path = next((p for p, each in by_file.items() if each.setup.learns), next(iter(by_file)))
    first_of: dict[str, Path] = {}
    for other_path, other in by_file.items():
        if what := by_file[path].setup.difference(other.setup):
            raise ValueError(
                f"{other_path}: of another {what} than {path}; evaluate one of them again, each "
                "encoder, representation and classifier into a folder of its own"
            )
        if (first := first_of.setdefault(other.task.name, other_path)) != other_path:
            raise ValueError(
                f"{other_path}: a second result of {other.task.name} in this folder, beside "
                f"{first.name}; keep one of them"
            )
    by_task = {result.task.name: result for result in by_file.values()}
    return dict(sorted(by_task.items()))


def results_by_file(folder: Path) -> dict[Path, Result]:
    """Returns the results that stand in a folder, of whatever evaluations; none without a folder.

    Raises:
        ValueError: as `read_result`.
    """
    values = {path: read_json(path, remedy=REMEDY) for path in sorted(folder.glob("*.json"))}
    return {path: _result(path, value) for path, value in values.items() if _is_result(value)}


def shown_setup(results: Mapping[str, Result]) -> Setup:
    """Returns the setup that stands for a folder's: that of a task that learns, if there is one."""
    setups = [result.setup for result in results.values()]
    return next((setup for setup in setups if setup.learns), setups[0])


def _is_result(value: Any) -> bool:
    return isinstance(value, dict) and value.get("format") == FORMAT


def _packed(array: npt.NDArray[Any]) -> dict[str, Any]:
    """Returns an array as text: the narrowest type that is exact, deflated, in base 64."""
    exact = np.asarray(array, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        kind = next(k for k in ARRAY_TYPES if k == "<f8" or (exact == exact.astype(k)).all())
    deflated = zlib.compress(exact.astype(kind).tobytes(), 9)
    return {"type": kind, "length": exact.size, "base64": base64.b64encode(deflated).decode()}


def _unpacked(value: Mapping[str, Any]) -> npt.NDArray[np.float64]:
    raw = zlib.decompress(base64.b64decode(value["base64"], validate=True))
    array = np.frombuffer(raw, dtype=value["type"]).astype(np.float64)
    if array.size != value["length"]:
        raise ValueError(f"an array of {array.size} numbers instead of {value['length']}")
    return array
