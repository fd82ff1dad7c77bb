"""Evaluates one encoder on tasks: ``python -m models.evaluate_tasks JOB.json``.

The job names the encoder, the tasks and where their data lies::

    {"encoder": "data/work/models/DEP-CONST-…", "name": "DEP,CONST trained", "tasks": ["MR"],
     "data": "senteval/data", "out": "results", "threads": 2}

``encoder`` is what ``models.encoding.encoder_names`` describes. One JSON file a task comes
out, also for a task whose data is absent; ``out`` may also be an object from each task to a folder
of its own. Further keys, all optional: ``representation`` and ``protocol`` (fields that differ from
their defaults), ``seed`` (of the encoder, for the result),
``encoder_version`` (of a function of your own: what its
results are kept under, beside the checksum of its module; without it they are made anew in each
run), ``encoder_source`` (that checksum, as whoever wrote the job saw it), ``parses``
(folder of tokens and parses that encoders share; without it they are kept for this job alone),
``device``, ``encoder_settings``
(``batch_size``, ``on_refusal``, ``vectors``, ``dependency_parser``, ``constituency_parser``,
``config`` of an untrained one).
"""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from models.encoding.encoder import Encoder, EncoderSettings
from models.encoding.encoder_names import parse_encoder_name
from models.encoding.load_encoder import encoder_of, load_encoder, words_beside
from models.encoding.own_encoder import kept_checksum
from models.encoding.sentence_reader import keep_given
from models.encoding.torch_model import available_device
from models.evaluation.evaluate_task import MAX_REFUSED, Evaluation, evaluate_task
from models.evaluation.protocols.config import ProtocolConfig
from models.evaluation.representations.representation import Representation
from models.evaluation.scores import main_metric
from models.evaluation.statistics.resampling import Interval
from models.evaluation.task_result import (
    ANOTHER_VERSION,
    AbsentResult,
    EncoderIdentity,
    Result,
    TaskResult,
    read_result,
    result_path,
    results_by_file,
    scored_results,
    write_result,
)
from models.evaluation.tasks.declarations import DERIVED, task_named, tasks_named
from models.evaluation.tasks.load import (
    AbsentDataError,
    derived_note,
    derived_sentences,
    load_task,
)
from models.evaluation.tasks.task import EvaluationTask
from models.evaluation_request import check_results
from models.report.evaluation_table import evaluation_table
from models.report.score_text import with_interval
from pipeline.base.digest import sha256_of_file
from pipeline.base.job import Progress, run_from_command_line
from pipeline.downloads.senteval_data import check_data_folder

_NEEDED = ("encoder", "tasks", "data", "out")
_OPTIONAL = (
    "name",
    "seed",
    "parses",
    "encoder_version",
    "encoder_source",
    "representation",
    "protocol",
    "encoder_settings",
    "device",
    "threads",
)


@dataclass(frozen=True, slots=True, eq=False)
class Scores(Mapping[str, Mapping[str, Interval]]):
    """What an encoder reached: each task's scores by their names, with intervals, in percent.

    Tasks whose data is absent are left out of the mapping, and are in ``results`` and the table.
    """

    results: Mapping[str, Result]
    """By task; a `TaskResult` has every prediction, too."""
    table: str
    """As Markdown: scores, averages and what was evaluated."""

    def __getitem__(self, task: str) -> Mapping[str, Interval]:
        result = self.results[task]
        if isinstance(result, AbsentResult):
            raise KeyError(f"{task}: {result.reason}")
        return result.scores

    def __iter__(self) -> Iterator[str]:
        return iter(scored_results(self.results))

    def __len__(self) -> int:
        return len(scored_results(self.results))


def scores_of(
    encoder: object,
    data: str | Path,
    *,
    tasks: str | Sequence[str] = "all",
    out: str | Path | None = None,
    name: str | None = None,
    device: str = "cpu",
    on_progress: Progress | None = None,
) -> Scores:
    """Returns the scores of an encoder, which may be a name, a folder, an object or a function.

    Args:
        encoder: see `models.encoding.load_encoder.encoder_of`.
        data: the folder that SentEval calls data.
        tasks: names, separated by commas or listed.
        out: folder of the results; None keeps none.
        name: what the table calls the encoder.
        device: torch's name of where to compute.
        on_progress: told the share of the tasks done, and the last one's score in words.

    Raises:
        FileNotFoundError: no such encoder.
        ValueError: no such data, or see `check_results` and `execute`.
    """
    check_data_folder(Path(data))
    names = tasks if isinstance(tasks, str) else ",".join(tasks)
    derived = derived_note(DERIVED[0], Path(data)) is not None
    found = tasks_named(names, derived=derived)
    is_named = isinstance(encoder, str | Path)
    called = str(encoder) if is_named else _called(encoder)
    shown = parse_encoder_name(called).shown if is_named else called
    threads = torch.get_num_threads()
    with tempfile.TemporaryDirectory(prefix="treeviews-") as scratch:
        folder = Path(out or scratch)
        job = {
            "encoder": called,
            "name": name or shown,
            "tasks": [task.name for task in found],
            "data": str(data),
            "out": str(folder),
            "device": device,
            "threads": threads,
        }
        given = None if is_named else encoder_of(encoder)
        check_results(job, Path(data), given)
        execute(job, on_progress or (lambda _share, _status: None), encoder=given)
        results = {task.name: read_result(result_path(folder, task)) for task in found}
        return Scores(results, evaluation_table([folder]))


def _called(encoder: object) -> str:
    names = (getattr(encoder, attribute, None) for attribute in ("name", "__name__"))
    return next((name for name in names if isinstance(name, str)), type(encoder).__name__)


def execute(job: Mapping[str, Any], progress: Progress, *, encoder: Encoder | None = None) -> None:
    """Runs a job; a result is written as soon as it is there.

    Args:
        job: see above.
        progress: told the share of the tasks done.
        encoder: what the job's ``encoder`` names, where that is an object of this process.

    Raises:
        ValueError: a key is missing or unknown, a setting is out of range, or a task's data or an
            encoder's answer is not as it must be, the encoder has not the views that are asked
            for, or the folder holds results of another evaluation; the last two are found before
            anything is scored.
    """
    if missing := [key for key in _NEEDED if key not in job]:
        raise ValueError(f"the job lacks {missing}")
    if unknown := sorted(set(job) - {*_NEEDED, *_OPTIONAL}):
        raise ValueError(f"the job has unknown keys {unknown}; known: {[*_NEEDED, *_OPTIONAL]}")
    threads = int(job.get("threads", 1))
    if threads < 1:
        raise ValueError(f"threads must be 1 or more, got {threads}")
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as temporary:
        _evaluate({**job, "parses": job.get("parses") or temporary}, progress, encoder)


def _evaluate(job: Mapping[str, Any], progress: Progress, encoder: Encoder | None) -> None:
    evaluation = evaluation_of(job, encoder)
    tasks = [task_named(name) for name in job["tasks"]]
    datasets = [task.dataset for task in tasks]
    tasks.sort(key=lambda task: datasets.index(task.dataset))  # those that share sentences together
    check_views(tasks, evaluation)
    folders = _folders(job["out"], tasks)
    for task in tasks:  # a damaged file is found before anything is scored
        with suppress(AbsentDataError):
            load_task(task, evaluation.data_folder)
    keep_parses_of_data(tasks, evaluation.data_folder, Path(job["parses"]))
    for folder in dict.fromkeys(folders.values()):
        check_folder(folder, tasks, evaluation)
    for done, task in enumerate(tasks):
        path = result_path(folders[task.name], task)
        standing = standing_result(path, task, evaluation)
        result = standing or evaluate_task(task, evaluation)
        if standing is None:
            write_result(path, result)
        progress((done + 1) / len(tasks), f"{task.name}: {status_of(result)}")


def _folders(out: Any, tasks: Sequence[EvaluationTask]) -> dict[str, Path]:
    """Returns the folder of each task's result.

    Raises:
        ValueError: a task has none.
    """
    if not isinstance(out, Mapping):
        return {task.name: Path(out) for task in tasks}
    if missing := [task.name for task in tasks if task.name not in out]:
        raise ValueError(f"out names no folder for {', '.join(missing)}")
    return {task.name: Path(out[task.name]) for task in tasks}


def evaluation_of(job: Mapping[str, Any], encoder: Encoder | None = None) -> Evaluation:
    """Returns what a job asks for, its encoder loaded unless it is given."""
    device = available_device(str(job.get("device", "cpu")))
    given = job.get("encoder_settings", {})
    settings = EncoderSettings.from_dict({**given, "device": device, "parses": job.get("parses")})
    representation = Representation.from_dict(job.get("representation", {}))
    source = _source(job)
    encoder = encoder or load_encoder(str(job["encoder"]), settings)
    return Evaluation(
        encoder=encoder,
        identity=_identity(job, encoder, source),
        data_folder=Path(job["data"]),
        representation=representation,
        protocol=ProtocolConfig.from_dict(job.get("protocol", {})),
        is_versioned=encoder.has_views or "encoder_version" in job,
        # Zeros that are asked for may be any number; unsaid, few sentences may be zeros.
        max_refused=1.0 if given.get("on_refusal") == "zero" else MAX_REFUSED,
        words=words_beside(encoder, settings) if representation.join_words else None,
        device=device,
        run={
            "device": device,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    )


def check_views(tasks: Sequence[EvaluationTask], evaluation: Evaluation) -> None:
    """Asks the encoder for the views that tasks need, before it encodes for minutes in vain.

    Of an encoder that does not know its widths nothing is found here.

    Raises:
        ValueError: see `Representation.check`.
    """
    representation = evaluation.representation
    if not evaluation.encoder.has_views:
        return
    for protocol in dict.fromkeys(task.protocol for task in tasks):
        widths = evaluation.encoder.widths(representation.poolings(protocol))
        if evaluation.words is not None:
            widths |= evaluation.words.widths(representation.word_poolings())
        representation.check(widths, protocol)


def keep_parses_of_data(tasks: Sequence[EvaluationTask], data_folder: Path, parses: Path) -> None:
    """Puts the parses that came with derived tasks where encoders look for parses."""
    kept: set[str] = set()
    for task in tasks:
        sentences = derived_sentences(task, data_folder)
        if sentences is not None and sentences.sha256 not in kept:
            keep_given(parses, sentences.texts, sentences.table, sentences.parsers)
            kept.add(sentences.sha256)


def check_folder(out: Path, tasks: Sequence[EvaluationTask], evaluation: Evaluation) -> None:
    """Refuses a folder whose results are not of this evaluation, also those of further tasks.

    Raises:
        ValueError: another evaluation's result stands there; names the file and the remedy.
    """
    asked = {task.name for task in tasks}
    for path, result in results_by_file(out).items():
        name, encoder = result.task.name, result.setup.encoder.name
        what = result.setup.difference(evaluation.setup(result.task))
        if what == ANOTHER_VERSION and name not in asked:
            raise ValueError(
                f"{path}: holds the result of another {what} ({encoder}); evaluate {name} again, "
                "too, or choose another folder"
            )
        if what == "encoder" and encoder == evaluation.identity.name:
            what = f"state of {encoder}, whose version or code has changed since"
        elif what not in (None, ANOTHER_VERSION):
            what = f"{what} ({encoder})"
        if what not in (None, ANOTHER_VERSION):
            raise ValueError(
                f"{path}: holds the result of another {what}; choose another folder for this one"
            )


def standing_result(path: Path, task: EvaluationTask, evaluation: Evaluation) -> TaskResult | None:
    """Returns the result that stands there, if the same evaluation would give it again.

    That is known only of encoders whose digest covers what they do, or whose version the user
    gives.
    """
    if not path.exists():
        return None
    result = read_result(path)
    if isinstance(result, AbsentResult) or result.setup.difference(evaluation.setup(task)):
        return None
    if not evaluation.is_versioned:
        return None
    files = {name: evaluation.data_folder / name for name in result.data.files}
    same = all(
        found.is_file() and sha256_of_file(found) == result.data.files[name]
        for name, found in files.items()
    )
    same = same and result.data.refused_share <= evaluation.max_refused
    note = derived_note(task, evaluation.data_folder)
    same = same and result.data.protocol == ({} if note is None else note.protocol)
    return result if same and result.resampling == evaluation.resampling else None


def status_of(result: Result) -> str:
    """Returns a result in a few words: its main score."""
    if isinstance(result, AbsentResult):
        return "absent"
    name = main_metric(result.task)
    return f"{name} {with_interval(result.scores[name])}"


def _source(job: Mapping[str, Any]) -> str:
    """Returns the checksum of the module of a function whose results are kept, else nothing.

    Raises:
        ValueError: it is not what the job says, or no file of it is found.
    """
    spec = str(job["encoder"])
    if "encoder_version" not in job or parse_encoder_name(spec).kind != "function":
        return ""
    source = kept_checksum(spec)
    if job.get("encoder_source", source) != source:
        raise ValueError(
            f"encoder {spec}: its module was changed after the run began; run the command again"
        )
    return source


def _identity(job: Mapping[str, Any], encoder: Encoder, source: str) -> EncoderIdentity:
    spec = str(job["encoder"])
    version = job.get("encoder_version")
    own = spec if version is None else "-".join(filter(None, [spec, version, source]))
    digest = encoder.digest if encoder.has_views else own
    return EncoderIdentity(str(job.get("name", spec)), digest, job.get("seed"))


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute))
