"""What a parser training leaves on disk after each epoch, how it resumes and how it ends."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.base.digest import digest_of, sha256_of_file
from pipeline.parser_training.epochs.checkpoint import (
    TrainingState,
    read_checkpoint,
    write_checkpoint,
)
from pipeline.parsers.adapters.folder_files import (
    DESCRIPTION_NAME,
    WEIGHTS_NAME,
    checksum_of_parser_folder,
)

logger = logging.getLogger(__name__)

CHECKPOINT_NAME, METRICS_NAME, BEST_NAME = "checkpoint.safetensors", "metrics.jsonl", "best"
RECORD_NAME, SCORES_NAME = "training.json", "scores.json"
FILE_FIELD_ENDINGS = ("_files", "_documents", "_vectors", "_parser")
"""Endings of the settings that name files."""


def _training_digest(config: Mapping[str, Any], file_digests: Sequence[str]) -> str:
    """Returns the digest of a training: its settings and what its files hold.

    Where the files lie does not matter, so a training goes on after its treebank was moved.
    """
    settings = {name: v for name, v in config.items() if not name.endswith(FILE_FIELD_ENDINGS)}
    return digest_of({"config": settings, "files": list(file_digests)})


class TrainingFolder:
    """The folder of one training.

    After an epoch it holds ``best/``, a parser folder that is usable at once, ``metrics.jsonl``
    with a line for each epoch, and ``checkpoint.safetensors``; the checkpoint is written last, so
    that a training killed at any moment repeats at most one epoch, with the same outcome. At the
    end it is itself a parser folder, with the metrics, ``training.json`` (what was trained) and
    ``scores.json`` (how well the parser does on the development sentences) beside.
    """

    def __init__(
        self,
        state: TrainingState,
        folder: Path,
        *,
        config: Mapping[str, Any],
        files: Sequence[Path],
    ) -> None:
        """Opens the folder and, where it holds a checkpoint, fills the state from it.

        Args:
            state: freshly built.
            folder: made where missing.
            config: JSON-serialisable; what is trained, for ``training.json``.
            files: that are read; with the configuration they determine the training.

        Raises:
            ValueError: the folder holds a finished parser, or the checkpoint of another training.
        """
        self._state, self._folder, self._config = state, folder, config
        self._digest = _training_digest(config, [sha256_of_file(file) for file in files])
        folder.mkdir(parents=True, exist_ok=True)
        checkpoint = folder / CHECKPOINT_NAME
        if checkpoint.exists():
            read_checkpoint(state, checkpoint, digest=self._digest)
            logger.info("going on after epoch %d", state.epoch)
        elif (folder / DESCRIPTION_NAME).exists():
            raise ValueError(f"{folder}: holds a parser already; give another folder")
        # An epoch whose metrics were written but not its checkpoint is trained again.
        self._lines = self._metrics_lines()[: state.epoch]
        self._write_metrics()

    def end_epoch(
        self,
        metrics: Mapping[str, Any],
        dev: Mapping[str, Any],
        score: float,
        *,
        save: Callable[[Path], object],
    ) -> None:
        """Writes what belongs to the epoch that was trained last.

        Args:
            metrics: JSON-serialisable; stands in a line of ``metrics.jsonl``.
            dev: scores on the development sentences, JSON-serialisable; in the same line.
            score: the one that chooses the epoch: the higher the better.
            save: writes the parser as it now is; called if the score is the best so far.
        """
        state = self._state
        state.epoch += 1
        if score > state.best_score:
            state.best_epoch, state.best_score = state.epoch, score
            save(self._folder / BEST_NAME)
        self._lines.append(json.dumps({"epoch": state.epoch, **metrics, "dev": dev}))
        self._write_metrics()
        write_checkpoint(state, self._folder / CHECKPOINT_NAME, digest=self._digest)

    def finish(
        self, *, headline: Callable[[Mapping[str, Any]], Mapping[str, float]]
    ) -> dict[str, Any]:
        """Makes the best epoch's parser the folder's own and removes what only a training needs.

        Args:
            headline: picks from the best epoch's ``dev`` scores, under the names they are reported
                by, those for ``scores.json``.

        Returns:
            ``checksum``, ``best_epoch``, ``num_parameters`` and the best epoch's ``dev`` scores.
        """
        best, state = self._folder / BEST_NAME, self._state
        summary = {
            "best_epoch": state.best_epoch,
            "num_parameters": sum(p.numel() for p in state.network.parameters()),
            "dev": json.loads(self._lines[state.best_epoch - 1])["dev"],
        }
        record = {"config": dict(self._config), "digest": self._digest, **summary}
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
