"""The evaluation of one encoder by its name, as ``treeviews evaluate`` asks for it.

The encoder is a model's folder, views of several such folders (``MODEL@VIEW+MODEL@VIEW``),
``bag_of_words``, ``sif``, ``english``, ``random-SEED``, or a function of the user's own from a list
of strings to a float matrix, one row a string. One JSON file a task is written. A task whose result
stands already is not scored again, if the encoder is known to be the same: a model, a baseline, or
a function of the user's own with a version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from models.config.training_presets import preset
from models.encoding.encoder import Encoder
from models.encoding.encoder_names import parse_encoder_name
from models.evaluation.protocols.config import ProtocolConfig
from models.evaluation.representations.representation import (
    Representation,
    representation_named,
)
from models.evaluation.task_result import AbsentResult, read_results, results_by_file
from models.evaluation.tasks.declarations import DERIVED, tasks_named
from models.evaluation.tasks.load import derived_note
from models.evaluation.tasks.task import EvaluationTask
from pipeline.base.digest import digest_of, sha256_of_file
from pipeline.base.job import Progress
from pipeline.base.machine import available_cores
from pipeline.downloads.senteval_data import check_data_folder

DEFAULT_PRESET = "laptop"
"""Whose architecture an untrained encoder has."""
DIGITS_OF_FOLDER = 8


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """What is scored, on what, and how."""

    encoder: str
    """Of the grammar of `models.encoding.encoder_names`."""
    data: Path
    """SentEval's data folder: it holds downstream/ and probing/."""
    tasks: str = "all"
    """Names, separated by commas."""
    out: Path | None = None
    """Folder of the results; by default results/ENCODER, with a digest where representation or
    protocol are not the default ones."""
    name: str | None = None
    """What tables call the encoder."""
    parses: Path = Path("results/parses")
    """Folder that keeps tokens and parses for other encoders."""
    encoder_version: str | None = None
    """Of a function of the user's own: what its results are kept under."""
    representation: str = "plain"
    representation_changes: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `ProtocolConfig` that differ from their defaults."""
    threads: int = 0
    """0 takes half of the cores."""
    preset: str = DEFAULT_PRESET
    """Of an untrained encoder."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Of the preset."""
    device: str = "cpu"
    encoder_settings: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of `EncoderSettings`."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Where results stand, and which of them were asked for."""

    folder: Path
    tasks: tuple[str, ...] | None
    """Names; None if all were asked for, then all that stand in the folder."""


def evaluate(request: EvaluationRequest, on_progress: Progress) -> Evaluated:
    """Scores an encoder; returns the folder with a result a task, and the tasks asked for.

    Raises:
        FileNotFoundError: no such model or word vectors.
        ValueError: whatever is wrong with the request, the data or the encoder.
    """
    from models.evaluate_tasks import execute

    job = job_of(request)
    check_results(job, request.data)
    execute(job, on_progress)
    asked = None if request.tasks.strip().lower() == "all" else tuple(job["tasks"])
    return Evaluated(Path(job["out"]), asked)


def scores_in(folder: Path, tasks: Sequence[str] | None = None) -> dict[str, Any]:
    """Returns the scores of a folder of results, by task, as JSON has them.

    Of each score ``value``, ``low`` and ``high``, the interval; of a task without data ``absent``,
    the reason.

    Args:
        tasks: names of those to return; by default all.

    Raises:
        FileNotFoundError: no results there.
        ValueError: a damaged one.
    """
    return {
        task: {"absent": result.reason}
        if isinstance(result, AbsentResult)
        else {score: asdict(interval) for score, interval in result.scores.items()}
        for task, result in read_results(folder).items()
        if tasks is None or task in tasks
    }


def check_results(job: Mapping[str, Any], data: Path, encoder: Encoder | None = None) -> None:
    """Refuses a folder of results that this run would mix with its own.

    Args:
        job: of `models.evaluate_tasks`; ``out`` is one folder.
        data: SentEval's data folder.
        encoder: what the job's ``encoder`` names, where that is an object of this process.

    Raises:
        ValueError: a result on other data stands there, or one of an earlier run of a function
            without a version; names the file and the remedy.
    """
    if encoder is None:
        is_function = parse_encoder_name(job["encoder"]).kind == "function"
    else:
        is_function = not encoder.has_views
    unversioned = is_function and "encoder_version" not in job
    for path, result in results_by_file(Path(job["out"])).items():
        if isinstance(result, AbsentResult):
            continue
        for name, sha256 in result.data.files.items():
            if not _is_file_of(data / name, sha256):
                raise ValueError(
                    f"{path}: the result on another {name} than that in {data}; choose another "
                    "folder by --out, or delete it"
                )
        if unversioned and result.task.name not in job["tasks"]:
            raise ValueError(
                f"{path}: the result of an earlier run; without --encoder-version nothing tells "
                "whether the function is still the same; evaluate its task again, too, choose "
                "another folder by --out, or delete it"
            )


def _is_file_of(path: Path, sha256: str) -> bool:
    return path.is_file() and sha256_of_file(path) == sha256


def job_of(request: EvaluationRequest) -> dict[str, Any]:
    """Returns the job of `models.evaluate_tasks` that a request stands for.

    Raises:
        ValueError: no data folder, or an unknown task, preset or field.
    """
    check_data_folder(request.data)
    representation = representation_named(
        request.representation, **dict(request.representation_changes)
    )
    config = preset(request.preset, **dict(request.changes))
    out = request.out or _results_folder(request, representation)
    job: dict[str, Any] = {
        "encoder": request.encoder,
        "name": request.name or parse_encoder_name(request.encoder).shown,
        "tasks": [task.name for task in _tasks(request)],
        "data": str(request.data),
        "out": str(out),
        "parses": str(request.parses),
        "representation": representation.to_dict(),
        "protocol": dict(request.protocol),
        "encoder_settings": {**request.encoder_settings, "config": config.to_dict()},
        "device": request.device,
        "threads": request.threads or max(1, available_cores() // 2),
    }
    if request.encoder_version is not None:
        job["encoder_version"] = request.encoder_version
    return job


def _tasks(request: EvaluationRequest) -> tuple[EvaluationTask, ...]:
    """Returns the tasks that are asked for; all of derived data are others than of SentEval's."""
    return tasks_named(request.tasks, derived=derived_note(DERIVED[0], request.data) is not None)


def _results_folder(request: EvaluationRequest, representation: Representation) -> str:
    """Returns where results go unless told; what is not scored by the defaults has a digest."""
    name = _file_name(request.encoder)
    if parse_encoder_name(request.encoder).kind == "random" and request.preset != DEFAULT_PRESET:
        name = f"{name}-{request.preset}"
    resolved = ProtocolConfig.from_dict(request.protocol)
    if (representation, resolved) == (Representation(), ProtocolConfig()):
        return f"results/{name}"
    used = {"representation": representation.to_dict(), "protocol": resolved.to_dict()}
    return f"results/{name}-{digest_of(used)[:DIGITS_OF_FOLDER]}"


def _file_name(encoder: str) -> str:
    """Returns what a folder of results is called after an encoder; of paths, their last parts."""
    name = Path(encoder).name if Path(encoder).is_dir() else parse_encoder_name(encoder).shown
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")
