"""Evaluates one encoder on tasks: ``python -m treeviews.models.evaluate_tasks JOB.json``.

The job is an `EvaluationSettings`::

    {"encoder": "data/work/models/DEP-CONST-…", "name": "DEP,CONST trained", "tasks": ["MR"],
     "data": "senteval/data", "out": {"MR": "results"}, "threads": 2}

One JSON file a task comes out, also for a task whose data is absent. A task whose result stands
already is not scored again, if the encoder is known to be the same: a model, a baseline, or a
function of the user's own with a version.
"""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

from treeviews.models.encoding.encoder import Encoder, EncoderSettings
from treeviews.models.encoding.encoder_names import parse_encoder_name
from treeviews.models.encoding.load_encoder import encoder_of, load_encoder, words_beside
from treeviews.models.encoding.own_encoder import kept_checksum
from treeviews.models.encoding.sentence_reader import keep_given
from treeviews.models.evaluation.evaluate_task import Evaluation, evaluate_task
from treeviews.models.evaluation.evaluation_settings import EvaluationSettings
from treeviews.models.evaluation.representation import WORD_POOLING
from treeviews.models.evaluation.resampling import Interval, Resampling
from treeviews.models.evaluation.scores import main_metric
from treeviews.models.evaluation.task_data import (
    AbsentDataError,
    derived_note,
    load_task,
    read_sentences,
    task_folder,
    tasks_of_data,
)
from treeviews.models.evaluation.task_registry import EvaluationTask, task_named
from treeviews.models.evaluation.task_result import (
    ANOTHER_VERSION,
    AbsentResult,
    EncoderIdentity,
    Result,
    TaskResult,
    read_result,
    read_results,
    result_path,
    results_by_file,
    scored_results,
    write_result,
)
from treeviews.models.report.evaluation_table import evaluation_table
from treeviews.models.report.figures import with_interval
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.job import Progress, run_from_command_line
from treeviews.pipeline.base.settings import to_json
from treeviews.pipeline.downloads.senteval_data import check_data_folder
from treeviews.pipeline.parsers.devices import resolve_device


class Scores(dict[str, Mapping[str, Interval]]):
    """What an encoder reached: each task's scores by their names, with intervals, in percent.

    Tasks whose data is absent are left out of the mapping, and are in ``results`` and the table.
    """

    def __init__(self, results: Mapping[str, Result], table: str) -> None:
        """Takes the results by task, and them as Markdown: scores, averages, what was evaluated."""
        super().__init__({task: each.scores for task, each in scored_results(results).items()})
        self.results = results
        self.table = table

    def __missing__(self, task: str) -> Mapping[str, Interval]:
        """Raises KeyError, which says why the task's data is absent."""
        result = self.results[task]
        raise KeyError(f"{task}: {result.reason}" if isinstance(result, AbsentResult) else task)


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
        ValueError: no such data, or see `execute`.
    """
    check_data_folder(Path(data))
    chosen = tasks_of_data(tasks if isinstance(tasks, str) else ",".join(tasks), Path(data))
    is_named = isinstance(encoder, str | Path)
    names = (getattr(encoder, attribute, None) for attribute in ("name", "__name__"))
    own = next((each for each in names if isinstance(each, str)), type(encoder).__name__)
    with tempfile.TemporaryDirectory(prefix="treeviews-") as scratch:
        folder = Path(out or scratch)
        settings = EvaluationSettings(
            encoder=str(encoder) if is_named else own,
            name=name or (None if is_named else own),
            tasks=tuple(task.name for task in chosen),
            data=Path(data),
            out=folder,
            device=device,
            threads=torch.get_num_threads(),
        )
        opened = None if is_named else encoder_of(encoder)
        execute(settings, on_progress or (lambda _share, _status: None), encoder=opened)
        results = {task.name: read_result(result_path(folder, task)) for task in chosen}
        return Scores(results, evaluation_table([folder]))


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
        else to_json(result.scores)
        for task, result in read_results(folder).items()
        if tasks is None or task in tasks
    }


def execute(
    settings: EvaluationSettings, progress: Progress, *, encoder: Encoder | None = None
) -> None:
    """Scores an encoder; a result is written as soon as it is there.

    Args:
        settings: what to score, on what, and how.
        progress: told the share of the tasks done.
        encoder: what the settings' ``encoder`` names, where that is an object of this process.

    Raises:
        FileNotFoundError: no such model or word vectors.
        ValueError: a task's data or an encoder's answer is not as it must be, the encoder has not
            the views that are asked for, or the folder holds results of another evaluation; the
            last two are told before anything is scored.
    """
    torch.set_num_threads(settings.threads)
    with tempfile.TemporaryDirectory() as temporary:
        settings = settings.changed(parses=settings.parses or Path(temporary))
        _evaluate(open_evaluation(settings, encoder), progress)


def open_evaluation(settings: EvaluationSettings, encoder: Encoder | None = None) -> Evaluation:
    """Returns an evaluation whose encoder is loaded, unless it is given.

    Raises:
        FileNotFoundError: no such encoder.
        ValueError: as `load_encoder`, or its module is not the one that the settings name.
    """
    device = resolve_device(settings.device)
    of_encoder = EncoderSettings.from_dict(
        {**settings.encoder_settings, "device": device, "parses": settings.parses}
    )
    source = _source(settings)
    encoder = encoder or load_encoder(settings.encoder, of_encoder)
    words = words_beside(encoder, of_encoder) if settings.representation.join_words else None
    name, version = settings.encoder, settings.encoder_version
    own = name if version is None else "-".join(filter(None, [name, version, source]))
    digest = encoder.digest if encoder.has_views else own
    return Evaluation(
        settings=settings.changed(device=device),
        encoder=encoder,
        identity=EncoderIdentity(
            settings.name or parse_encoder_name(name).shown, digest, settings.seed
        ),
        words=words,
        run={
            "device": device,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    )


def _source(settings: EvaluationSettings) -> str:
    """Returns the checksum of the module of a function whose results are kept, else nothing.

    Raises:
        ValueError: it is not what the settings say, or no file of it is there.
    """
    name = settings.encoder
    if settings.encoder_version is None or parse_encoder_name(name).kind != "function":
        return ""
    source = kept_checksum(name)
    if settings.encoder_source not in (None, source):
        raise ValueError(
            f"encoder {name}: its module was changed after the run began; run the command again"
        )
    return source


def _evaluate(evaluation: Evaluation, progress: Progress) -> None:
    settings = evaluation.settings
    tasks = [task_named(name) for name in settings.tasks]
    datasets = [task.dataset for task in tasks]
    tasks.sort(key=lambda task: datasets.index(task.dataset))  # those that share sentences together
    check_views(tasks, evaluation)
    folders = {task.name: settings.folder(task.name) for task in tasks}
    for task in tasks:  # a damaged file is told before anything is scored
        with suppress(AbsentDataError):
            load_task(task, settings.data)
    if settings.parses is not None:
        keep_parses_of_data(tasks, settings.data, settings.parses)
    for folder in dict.fromkeys(folders.values()):
        check_folder(folder, tasks, evaluation)
    for done, task in enumerate(tasks, start=1):
        path = result_path(folders[task.name], task)
        result: Result | None = standing_result(path, task, evaluation)
        if result is None:
            result = evaluate_task(task, evaluation)
            write_result(path, result)
        status = "absent"
        if isinstance(result, TaskResult):
            name = main_metric(task)
            status = f"{name} {with_interval(result.scores[name])}"
        progress(done / len(tasks), f"{task.name}: {status}")


def check_views(tasks: Sequence[EvaluationTask], evaluation: Evaluation) -> None:
    """Asks the encoder for the views that tasks need, before it encodes for minutes in vain.

    Of an encoder that does not know its widths nothing can be told here.

    Raises:
        ValueError: see `Representation.check`.
    """
    representation = evaluation.settings.representation
    if not evaluation.encoder.has_views:
        return
    for protocol in dict.fromkeys(task.protocol for task in tasks):
        widths = evaluation.encoder.widths(representation.poolings(protocol))
        if evaluation.words is not None and evaluation.words.has_views:
            widths |= evaluation.words.widths(WORD_POOLING)
        representation.check(widths, protocol)


def keep_parses_of_data(tasks: Sequence[EvaluationTask], data_folder: Path, parses: Path) -> None:
    """Puts the parses that came with derived tasks where encoders look for parses."""
    for folder, task in {task_folder(task, data_folder): task for task in tasks}.items():
        if note := derived_note(task, data_folder):
            sentences = read_sentences(folder, note)
            keep_given(parses, sentences.texts, sentences.table, note.parsers)


def check_folder(out: Path, tasks: Sequence[EvaluationTask], evaluation: Evaluation) -> None:
    """Refuses a folder whose results this run would mix with its own, also those of further tasks.

    Raises:
        ValueError: another evaluation's result stands there, or one on other data; names the file
            and the remedy.
    """
    settings = evaluation.settings
    for path, result in results_by_file(out).items():
        is_asked_for, encoder = result.task in tasks, result.setup.encoder.name
        what = result.setup.difference(evaluation.setup(result.task))
        if what == "encoder" and encoder == evaluation.identity.name:
            what = f"state of {encoder}, whose version or code has changed since"
        if what == ANOTHER_VERSION and is_asked_for:
            continue
        if what is None and isinstance(result, TaskResult) and isinstance(settings.out, Path):
            if changed := _changed_files(result, settings.data):
                what = f"file {changed[0]} than that in {settings.data}"
            elif not (evaluation.is_versioned or is_asked_for):
                raise ValueError(
                    f"{path}: name {result.task.name} among the tasks, too, or give another "
                    "folder by --out, where --encoder-version 1 keeps results; this one holds "
                    "the result of another run of a function, which may have changed since"
                )
        if what is not None:
            again = f"evaluate {result.task.name} again, too, " if what == ANOTHER_VERSION else ""
            raise ValueError(
                f"{path}: holds the result of another {what}; {again}choose another folder by "
                "--out, or delete it"
            )


def _changed_files(result: TaskResult, data: Path) -> list[str]:
    """Returns the files of a result that the data folder has not, or not as they were."""
    return [
        name
        for name, sha256 in result.data.files.items()
        if not (data / name).is_file() or sha256_of_file(data / name) != sha256
    ]


def standing_result(path: Path, task: EvaluationTask, evaluation: Evaluation) -> TaskResult | None:
    """Returns the result that stands there, if the same evaluation would give it again."""
    if not path.exists() or not evaluation.is_versioned:
        return None
    result, settings = read_result(path), evaluation.settings
    if isinstance(result, AbsentResult) or result.setup.difference(evaluation.setup(task)):
        return None
    note = derived_note(task, settings.data)
    is_same = (
        result.data.refused_share <= settings.max_refused
        and result.data.protocol == ({} if note is None else note.protocol)
        and result.resampling == Resampling()
        and not _changed_files(result, settings.data)
    )
    return result if is_same else None


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute, kind=EvaluationSettings))
