"""MTEB's tasks on local data, scored by MTEB, as result files beside those of SentEval's tasks."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from models.encoding.encoder_interface import ViewEncoder
from models.evaluation.evaluate_task import Evaluation
from models.evaluation.protocols.outcome import Outcome, Predictions
from models.evaluation.representations.representation import Representation
from models.evaluation.scores import main_metric, score
from models.evaluation.task_result import (
    MTEB,
    Setup,
    TaskResult,
    read_result,
    result_path,
    scored,
    write_result,
)
from models.evaluation.tasks.task import EvaluationTask
from models.mteb.library import import_mteb, offline
from models.mteb.mteb_model import MTEBModel
from models.mteb.predictions import (
    groups_of,
    predictions_of,
    recording_queries,
)
from models.mteb.tasks import LoadedTask, load_mteb_task, mteb_task_names
from pipeline.base.job import Progress

_EXPECTED = (".*is superseded by", "lbfgs failed to converge")
"""Warnings that MTEB's protocols give for any encoder: its classifiers stop after 100 steps."""
ROUNDING = 1e-3
"""By how much, in percent, a score may differ from that of its items; MTEB rounds some to 1e-5."""


def evaluate_mteb(
    evaluation: Evaluation,
    data: Path,
    tasks: Sequence[str],
    out: Path,
    progress: Progress = lambda fraction, status: None,
) -> list[TaskResult]:
    """Scores an encoder on MTEB's tasks; a result is written as soon as it is there.

    A result that stands is not made again where the encoder, the data and MTEB are known to be the
    same. The scores are MTEB's own; see `models.mteb.predictions` for the intervals.

    Args:
        evaluation: the encoder and how intervals are made; the representation must be the plain
            one, as MTEB asks for the encoder's vectors.
        data: the folder that has a folder a task, see `models.mteb.local_data`.
        tasks: MTEB's names, or ``all`` that there are data of.
        out: the encoder's folder of results.
        progress: told the share of the tasks that are done, and their scores.

    Returns:
        The results, in the order of the tasks.

    Raises:
        FileNotFoundError: data are not there.
        ValueError: mteb is not installed, an unknown task, another representation than the plain
            one, data that MTEB cannot read, or too many texts that the encoder refuses.
    """
    if evaluation.representation != Representation():
        raise ValueError(
            "MTEB's tasks take the encoder's own vectors; leave out --representation and its "
            "changes"
        )
    names = mteb_task_names(tasks, data)
    results = []
    with offline() as temporary, _quiet():
        for done, name in enumerate(names):
            loaded = load_mteb_task(name, data, temporary)
            path = result_path(out, loaded.declared)
            result = _standing(path, loaded, evaluation)
            if result is None:
                result = _evaluated(loaded, evaluation, temporary / "predictions")
                write_result(path, result)
            results.append(result)
            progress((done + 1) / len(names), f"{result.task.name}: {_told(result)}")
    return results


def _evaluated(loaded: LoadedTask, evaluation: Evaluation, folder: Path) -> TaskResult:
    """Returns what MTEB finds, its score with our interval."""
    mteb, task, started = import_mteb(), loaded.task, time.perf_counter()
    model = MTEBModel(evaluation.encoder, evaluation.identity.name)
    of_queries = recording_queries(task)
    found = mteb.evaluate(
        model,
        task,
        cache=None,
        co2_tracker=False,
        prediction_folder=folder,
        show_progress_bar=False,
        encode_kwargs={
            "batch_size": evaluation.protocol.batch_items,
            "show_progress_bar": False,
        },
    ).task_results[0]
    _check_refused(loaded.declared, model, evaluation)
    saved = folder / task.prediction_file_name
    predictions, drawn = predictions_of(task, groups_of(task, found.scores, saved, of_queries))
    record = replace(
        loaded.data,
        num_sentences=model.num_texts,
        num_refused=len(model.refused),
        remarks=_remarks(predictions, drawn),
    )
    width = model.width or 0
    result = scored(
        loaded.declared,
        _setup(evaluation),
        record,
        Outcome(predictions, counts={drawn: len(predictions.gold)}, width=width),
        seconds={
            "embed": round(model.seconds, 3),
            "fit": round(time.perf_counter() - started - model.seconds, 3),
        },
        resampling=evaluation.resampling,
    )
    return _with_score(result, 100.0 * float(found.get_score()))


def _with_score(result: TaskResult, value: float) -> TaskResult:
    """Returns the result with MTEB's own figure, which may be rounded.

    Raises:
        ValueError: that of the items differs by more.
    """
    name = main_metric(result.task)
    own = score(result.task, result.outcome.predictions)[name]
    if abs(own - value) > ROUNDING:
        raise ValueError(
            f"{result.task.name}: MTEB scores {value}, its own answers give {own}; please report "
            "this with the version of mteb"
        )
    figures = {**result.scores, name: replace(result.scores[name], value=value)}
    return replace(result, scores=figures)


def _told(result: TaskResult) -> str:
    name = main_metric(result.task)
    figure = result.scores[name]
    return f"{name} {figure.value:.1f} [{figure.low:.1f}, {figure.high:.1f}]"


def _setup(evaluation: Evaluation) -> Setup:
    version = str(import_mteb().__version__)
    return Setup(
        encoder=evaluation.identity,
        representation=evaluation.representation.to_dict(),
        classifier={"classifier": MTEB, "version": version},
        run=dict(evaluation.run),
    )


def _remarks(predictions: Predictions, drawn: str) -> tuple[str, ...]:
    """Returns what the intervals of a task are about, where that is not said elsewhere."""
    if len(predictions.gold) == len(predictions.group_names):
        return ("MTEB gives one figure a subset, so there is no interval over items",)
    if drawn in {"sets of texts", "experiments"}:
        return (f"the interval draws MTEB's {drawn}, not single texts",)
    return ()


def _check_refused(declared: EvaluationTask, model: MTEBModel, evaluation: Evaluation) -> None:
    """Refuses a score of which too many texts were zeros.

    Raises:
        ValueError: names the share, the first reason and the remedy.
    """
    if len(model.refused) > evaluation.max_refused * model.num_texts:
        first = next(iter(model.refused.values()))
        raise ValueError(
            f"{declared.name}: the encoder refuses {len(model.refused):,} of {model.num_texts:,} "
            f"distinct texts, more than {evaluation.max_refused:.0%}, such as {first}; see that it "
            "is made for such text, or ask for zeros in their place by --on-refusal zero"
        )


def _standing(path: Path, loaded: LoadedTask, evaluation: Evaluation) -> TaskResult | None:
    """Returns the result that stands there, if it would be the same again."""
    known = isinstance(evaluation.encoder, ViewEncoder) or evaluation.cache_name is not None
    if not (known and path.is_file()):
        return None
    result = read_result(path)
    if not isinstance(result, TaskResult) or result.setup.difference(_setup(evaluation)):
        return None
    same = result.data.digest == loaded.data.digest and result.resampling == evaluation.resampling
    return result if same and result.data.refused_share <= evaluation.max_refused else None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps the libraries' progress bars and notes from the terminal."""
    from datasets.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    names = ("mteb", "datasets", "sentence_transformers")
    before = {name: logging.getLogger(name).level for name in names}
    shown = not are_progress_bars_disabled()
    try:
        disable_progress_bars()
        for name in names:
            logging.getLogger(name).setLevel(logging.ERROR)
        with warnings.catch_warnings():
            for message in _EXPECTED:
                warnings.filterwarnings("ignore", message=message)
            yield
    finally:
        if shown:
            enable_progress_bars()
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
