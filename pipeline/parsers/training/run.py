"""What a parser training leaves on disk after each epoch, how it resumes and how it ends."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.digest import digest_of
from pipeline.parsers.folder_files import DESCRIPTION_NAME, WEIGHTS_NAME, checksum_of_parser_folder
from pipeline.parsers.training.checkpoint import TrainingState, read_checkpoint, write_checkpoint

logger = logging.getLogger(__name__)

CHECKPOINT_NAME, METRICS_NAME, BEST_NAME = "checkpoint.safetensors", "metrics.jsonl", "best"
RECORD_NAME, SCORES_NAME = "training.json", "scores.json"
FILE_FIELD_ENDINGS = ("_files", "_documents", "_vectors", "_parser")
"""Endings of the settings that name files."""


def training_digest(config: Mapping[str, Any], file_digests: Sequence[str]) -> str:
    """Returns the digest of a training: its settings and what its files hold.

    Where the files lie does not matter, so a training goes on after its treebank was moved.
    """
    settings = {name: v for name, v in config.items() if not name.endswith(FILE_FIELD_ENDINGS)}
    return digest_of({"config": settings, "files": list(file_digests)})


@dataclass(frozen=True)
class EpochOutcome:
    """What one epoch came to."""

    metrics: Mapping[str, Any]
    """JSON-serialisable; stands in a line of ``metrics.jsonl``."""
    dev: Mapping[str, Any]
    """Scores on the development sentences, JSON-serialisable; in the same line."""
    score: float
    """The one that chooses the epoch: the higher the better."""
    save: Callable[[Path], object]
    """Writes the parser as it now is to a folder; called if the score is the best so far."""
    message: str
    """For people who wait."""


class TrainingRun:
    """The folder of one training.

    After an epoch it holds ``best/``, a parser folder that is usable at once, ``metrics.jsonl``
    with a line for each epoch, and ``checkpoint.safetensors``; the checkpoint is written last, so
    that a training killed at any moment repeats at most one epoch, with the same outcome. At the
    end it is itself a parser folder, with the metrics, ``training.json`` (what was trained) and
    ``scores.json`` (how well the parser does on the development sentences) beside.
    """

    def __init__(self, state: TrainingState, folder: Path, *, digest: str) -> None:
        """Opens the folder and, where it holds a checkpoint, fills the state from it.

        Args:
            state: freshly built.
            folder: made where missing.
            digest: of everything that determines the training.

        Raises:
            ValueError: the folder holds a finished parser, or the checkpoint of another training.
        """
        self.state, self._folder, self._digest = state, folder, digest
        folder.mkdir(parents=True, exist_ok=True)
        checkpoint = folder / CHECKPOINT_NAME
        if checkpoint.exists():
            read_checkpoint(state, checkpoint, digest=digest)
            logger.info("going on after epoch %d", state.epoch)
        elif (folder / DESCRIPTION_NAME).exists():
            raise ValueError(f"{folder}: holds a parser already; give another folder")
        # An epoch whose metrics were written but not its checkpoint is trained again.
        self._lines = self._metrics_lines()[: state.epoch]
        self._write_metrics()

    def train(
        self,
        train_epoch: Callable[[], EpochOutcome],
        *,
        num_epochs: int,
        on_progress: Callable[[float, str], None] | None = None,
    ) -> None:
        """Trains the epochs that are left and writes what belongs to each.

        Args:
            train_epoch: takes the next epoch's steps and scores the outcome.
            num_epochs: of the whole training.
            on_progress: called after each epoch with the finished share (0 to 1) and a message.
        """
        while self.state.epoch < num_epochs:
            outcome = train_epoch()
            self._end_epoch(outcome)
            logger.info("epoch %d: %s", self.state.epoch, outcome.message)
            if on_progress is not None:
                on_progress(self.state.epoch / num_epochs, outcome.message)

    def _end_epoch(self, outcome: EpochOutcome) -> None:
        self.state.epoch += 1
        if outcome.score > self.state.best_score:
            self.state.best_epoch, self.state.best_score = self.state.epoch, outcome.score
            outcome.save(self._folder / BEST_NAME)
        line = {"epoch": self.state.epoch, **outcome.metrics, "dev": outcome.dev}
        self._lines.append(json.dumps(line))
        self._write_metrics()
        write_checkpoint(self.state, self._folder / CHECKPOINT_NAME, digest=self._digest)

    def finish(
        self,
        config: Mapping[str, Any],
        *,
        headline: Callable[[Mapping[str, Any]], Mapping[str, float]],
    ) -> dict[str, Any]:
        """Makes the best epoch's parser the folder's own and removes what only a training needs.

        Args:
            config: JSON-serialisable; what was trained, for ``training.json``.
            headline: picks from the best epoch's ``dev`` scores, under the names they are reported
                by, those for ``scores.json``.

        Returns:
            ``checksum``, ``best_epoch``, ``num_parameters`` and the best epoch's ``dev`` scores.
        """
        best, state = self._folder / BEST_NAME, self.state
        summary = {
            "best_epoch": state.best_epoch,
            "num_parameters": sum(p.numel() for p in state.network.parameters()),
            "dev": json.loads(self._lines[state.best_epoch - 1])["dev"],
        }
        record = {"config": dict(config), "digest": self._digest, **summary}
        scores = {name: round(score, 2) for name, score in headline(summary["dev"]).items()}
        for name, value in ((RECORD_NAME, record), (SCORES_NAME, scores)):
            text = json.dumps(value, indent=1) + "\n"
            (self._folder / name).write_text(text, encoding="utf-8")
        for name in (WEIGHTS_NAME, DESCRIPTION_NAME):
            if (best / name).exists():  # not so when an earlier call was killed just here
                (best / name).replace(self._folder / name)
        if best.exists():
            best.rmdir()
        (self._folder / CHECKPOINT_NAME).unlink()
        return {"checksum": checksum_of_parser_folder(self._folder), **summary}

    def _metrics_lines(self) -> list[str]:
        metrics = self._folder / METRICS_NAME
        return metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []

    def _write_metrics(self) -> None:
        temporary = self._folder / f"{METRICS_NAME}.partial"
        temporary.write_text("".join(f"{line}\n" for line in self._lines), encoding="utf-8")
        temporary.replace(self._folder / METRICS_NAME)
