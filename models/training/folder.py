"""The files of a training under way, kept in step: metrics, checkpoints, the corpus' survey."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from models.corpus.parsed_corpus import CorpusSurvey, ParsedCorpus
from models.model.ranks import Ranks
from models.training.checkpoints import (
    BestModel,
    BrokenCheckpointError,
    Checkpoint,
    checkpoint_folders,
    checkpoint_state,
    last_whole_checkpoint,
    latest_checkpoint,
    remove_unfinished,
    write_checkpoint,
)
from models.training.job import RunSettings
from models.training.logs import METRICS_FILE, MetricsLog
from models.words.word_vectors import Coverage
from pipeline.base.atomic_files import write_bytes_atomically
from pipeline.base.json_files import check_file, read_json, write_sealed_json

logger = logging.getLogger(__name__)

CHECKPOINTS_FOLDER = "checkpoints"
SURVEY_FILE = "survey.json"
COUNTS_FILE = "word-counts.npy"


def open_checkpoint(out: Path, identity: str, ranks: Ranks) -> Checkpoint | None:
    """Returns the last whole checkpoint of a training's folder to each of its ranks, or None.

    Args:
        identity: digest of all that determines the result.

    Raises:
        OSError: a file of a checkpoint is there but cannot be read now.
        ValueError: the checkpoints are of another training, or none of them is whole.
    """
    folder = out / CHECKPOINTS_FOLDER
    _refuse_another_training(folder, identity)
    ranks.wait_for_all()
    checkpoint = None
    if ranks.is_first:
        remove_unfinished(folder)
        checkpoint = last_whole_checkpoint(folder)
    ranks.wait_for_all()
    if not ranks.is_first:
        checkpoint = latest_checkpoint(folder)
    ranks.wait_for_all()  # from now on the first rank writes
    return checkpoint


def _refuse_another_training(folder: Path, identity: str) -> None:
    """Reads what the checkpoints say of themselves, before anything in the folder is changed."""
    for checkpoint in checkpoint_folders(folder):
        with suppress(BrokenCheckpointError):
            if checkpoint_state(checkpoint).get("identity") == identity:
                continue
            raise ValueError(
                f"{folder}: checkpoints of another training (other settings, corpus or word "
                "vectors); give another folder or delete them"
            )


class TrainingFolder:
    """Writes what a training leaves behind; the first rank has one, the others have none."""

    def __init__(
        self,
        out: Path,
        *,
        identity: str,
        settings: RunSettings,
        checkpoint: Checkpoint | None,
        save_best: Callable[[Path], None] | None,
    ) -> None:
        """Cuts the metrics back to the checkpoint; without one they start anew.

        Args:
            save_best: writes the present weights as a model folder; None keeps no best model.

        Raises:
            ValueError: the metrics or the best model do not fit the checkpoint.
        """
        self.checkpoints = out / CHECKPOINTS_FOLDER
        self._identity = identity
        self._num_kept = settings.keep_checkpoints
        state = {} if checkpoint is None else checkpoint.state
        self.best = BestModel(self.checkpoints, save=save_best, record=state.get("best"))
        self._remove_unknown_models()
        self._metrics = MetricsLog(out / METRICS_FILE, keep_bytes=state.get("metrics_bytes", 0))

    def write(self, record: Mapping[str, Any]) -> None:
        """Appends a record to the metrics."""
        self._metrics.write(record)

    def save(self, step: int, tensors: dict[str, Tensor], state: Mapping[str, Any]) -> None:
        """Writes a checkpoint that fits the metrics as they stand."""
        own = {
            "identity": self._identity,
            "metrics_bytes": self._metrics.position(),
            "best": self.best.record,
        }
        checkpoint = Checkpoint(step, tensors, {**state, **own})
        write_checkpoint(self.checkpoints, checkpoint, keep=self._num_kept)
        self._remove_unknown_models()

    @property
    def last_checkpoint(self) -> Path | None:
        """The last checkpoint that stands; None before the first."""
        return next(reversed(checkpoint_folders(self.checkpoints)), None)

    def _remove_unknown_models(self) -> None:
        kept = checkpoint_folders(self.checkpoints)
        self.best.remove_unknown(checkpoint_state(path)["best"] for path in kept)

    def close(self) -> None:
        """Closes the metrics."""
        self._metrics.close()


def surveyed(corpus: ParsedCorpus, folder: Path, identity: str, ranks: Ranks) -> CorpusSurvey:
    """Returns the corpus' survey on every rank: made once, by the first, and kept for the next run.

    Args:
        folder: where `keep_survey` has put it, or not.
        identity: digest of all that determines the result; a survey of another is not used.
    """
    survey = None
    if ranks.is_first:
        survey = _kept_survey(folder, identity) or corpus.survey()
    survey = ranks.agreed(survey)
    assert survey is not None, "the first rank has made it"
    return survey


def keep_survey(survey: CorpusSurvey, folder: Path, identity: str) -> None:
    """Writes a survey for the next run, what marks it last."""
    folder.mkdir(parents=True, exist_ok=True)
    counts = BytesIO()
    np.save(counts, survey.word_counts, allow_pickle=False)
    write_bytes_atomically(folder / COUNTS_FILE, counts.getvalue())
    content = {
        "identity": identity,
        "rows": survey.rows,
        "skipped": survey.skipped,
        "coverage": asdict(survey.coverage),
    }
    write_sealed_json(folder / SURVEY_FILE, content, [folder / COUNTS_FILE])


def _kept_survey(folder: Path, identity: str) -> CorpusSurvey | None:
    """Returns the survey that stands there; None where it is another training's or damaged."""
    path, counts, remedy = folder / SURVEY_FILE, folder / COUNTS_FILE, "it is made again"
    if not path.is_file():
        return None
    try:
        value: dict[str, Any] = read_json(path, remedy=remedy)
        if value["identity"] != identity:
            return None
        check_file(counts, value, remedy)
        return CorpusSurvey(
            rows=tuple(value["rows"]),
            skipped=value["skipped"],
            coverage=Coverage(**value["coverage"]),
            word_counts=np.load(counts, allow_pickle=False),
        )
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        logger.warning("%s: a broken survey: %s", path, error)
        return None
