"""The loop: one step after another from a checkpoint to the end, every step logged."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.checkpoints import Checkpoint, capture, latest_checkpoint, restore, write_checkpoint
from models.context_accuracy import held_out_context_accuracy
from models.contrastive_model import ContrastiveModel, batch_of, positions_of
from models.learning_rate import learning_rate_at
from models.machine import peak_memory_gib
from models.metrics_log import METRICS_FILE, MetricsLog
from models.parsed_corpus import ParsedCorpus
from models.progress import progress_bar
from models.run_settings import RunSettings
from models.sentence_batch import SentenceBatch
from models.sentence_block import SentenceBlock
from models.training_batches import TrainingBatches
from pipeline.job import Progress

CHECKPOINTS_FOLDER = "checkpoints"


class TrainingDivergedError(ValueError):
    """The loss or the gradient is no longer a finite number."""


class TrainingRun:
    """A training in its folder: resumes from the last checkpoint there, else starts anew."""

    def __init__(
        self,
        model: ContrastiveModel,
        batches: TrainingBatches,
        held_out: ParsedCorpus,
        *,
        out: Path,
        identity: str,
        settings: RunSettings,
    ) -> None:
        """Args: identity: digest of all that determines the result.

        Raises:
            ValueError: the folder's checkpoint is of another training.
        """
        self.config = model.config
        self.device = torch.device(settings.device)
        self.model = model.to(self.device)
        self.num_steps = self.config.epochs * batches.steps_per_epoch
        self.step = 0
        self._batches = batches
        self._held_out = held_out
        self._settings = settings
        self._identity = identity
        self._checkpoints = out / CHECKPOINTS_FOLDER
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        self._optimiser = torch.optim.Adam(
            self._parameters,
            lr=self.config.learning_rate,
            weight_decay=self.config.weight_decay,
        )
        self._seconds_before = 0.0
        checkpoint = latest_checkpoint(self._checkpoints)
        if checkpoint is not None:
            self._resume(checkpoint)
        kept = 0 if checkpoint is None else checkpoint.state["metrics_bytes"]
        self._log = MetricsLog(out / METRICS_FILE, keep_bytes=kept)
        self._started = self._last_checkpoint = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time spent on the steps that count, over all runs."""
        return self._seconds_before + time.perf_counter() - self._started

    def run(self, on_progress: Progress) -> None:
        """Takes all steps that are left.

        Raises:
            TrainingDivergedError: loss or gradient is not finite.
        """
        try:
            if self.step == 0:
                self._measure_held_out()
            self._run_steps(on_progress)
        finally:
            self._log.close()

    def _run_steps(self, on_progress: Progress) -> None:
        blocks = self._batches.from_step(self.step, epochs=self.config.epochs)
        self.model.train()
        shown = self._settings.progress_bar
        with progress_bar(self.num_steps, initial=self.step, shown=shown) as bar:
            while self.step < self.num_steps:
                record = self._take_step(lambda: next(blocks))
                self._log.write(record)
                if self.step % self._batches.steps_per_epoch == 0:
                    self._measure_held_out()
                if self._checkpoint_is_due():
                    self.save_checkpoint()
                bar.advance(loss=record["loss"], accuracy=record["in_batch_accuracy"])
                on_progress(self.step / self.num_steps, self._status(record))

    def _take_step(self, next_block: Callable[[], SentenceBlock]) -> dict[str, Any]:
        started = time.perf_counter()
        block = next_block()
        batch = batch_of(block).to(self.device)
        positions = positions_of(block, self.device)
        waited = time.perf_counter() - started
        place = {"step": self.step + 1, "epoch": self.step // self._batches.steps_per_epoch}
        learnt = self._update(batch, positions)
        self.step += 1
        took = time.perf_counter() - started
        return {
            "kind": "train",
            **place,
            **learnt,
            "sentences": len(block),
            "sentences_per_second": round(len(block) / took, 1),
            "data_wait_percent": round(100 * waited / took, 2),
            "peak_memory_gib": round(peak_memory_gib(self.device), 3),
            "seconds": round(self.seconds, 3),
        }

    def _update(self, batch: SentenceBatch, positions: tuple[Tensor, Tensor]) -> dict[str, float]:
        """Moves the weights once; returns what the step's record says of it."""
        learning_rate = learning_rate_at(self.step, self.num_steps, self.config)
        for group in self._optimiser.param_groups:
            group["lr"] = learning_rate
        self._optimiser.zero_grad(set_to_none=True)
        result = self.model(batch, *positions)
        loss = self._finite(result.loss.item(), "loss")
        result.loss.backward()
        limit = math.inf if self.config.gradient_clip is None else self.config.gradient_clip
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, limit)
        gradient_norm = self._finite(norm.item(), "gradient norm")
        self._optimiser.step()
        return {
            "loss": loss,
            "in_batch_accuracy": result.accuracy.item(),
            "chance": result.chance.item(),
            "gradient_norm": gradient_norm,
            "learning_rate": learning_rate,
        }

    def _finite(self, value: float, name: str) -> float:
        if math.isfinite(value):
            return value
        raise TrainingDivergedError(
            f"the {name} of step {self.step + 1} is {value}; the last good checkpoint is kept in "
            f"{self._checkpoints}. Lower learning_rate ({self.config.learning_rate}) or "
            f"vector_rms ({self.config.vector_rms}), or set gradient_clip"
        )

    def _measure_held_out(self) -> None:
        measured = held_out_context_accuracy(
            self.model, self._held_out, max_batches=self.config.held_out_batches
        )
        epoch = self.step // self._batches.steps_per_epoch
        record = {"kind": "held_out", "step": self.step, "epoch": epoch, **asdict(measured)}
        self._log.write(record)

    def _status(self, record: dict[str, Any]) -> str:
        return (
            f"epoch {record['epoch'] + 1} of {self.config.epochs}, step {self.step} of "
            f"{self.num_steps}, loss {record['loss']:.3f}, in-batch accuracy "
            f"{100 * record['in_batch_accuracy']:.1f} % (chance {100 * record['chance']:.1f} %)"
        )

    def _checkpoint_is_due(self) -> bool:
        every = self._settings.checkpoint_every_steps
        if every is not None and self.step % every == 0:
            return True
        age = time.perf_counter() - self._last_checkpoint
        return age >= self._settings.checkpoint_every_seconds

    def save_checkpoint(self) -> None:
        """Writes a checkpoint of the steps done so far."""
        state = {
            "identity": self._identity,
            "metrics_bytes": self._log.position(),
            "seconds": self.seconds,
        }
        tensors = capture(self.model, self._optimiser)
        checkpoint = Checkpoint(self.step, tensors, state)
        write_checkpoint(self._checkpoints, checkpoint, keep=self._settings.keep_checkpoints)
        self._last_checkpoint = time.perf_counter()

    def _resume(self, checkpoint: Checkpoint) -> None:
        if checkpoint.state["identity"] != self._identity:
            raise ValueError(
                f"{self._checkpoints}: checkpoints of another training (other settings, corpus "
                "or word vectors); give another folder or delete them"
            )
        restore(checkpoint.tensors, self.model, self._optimiser)
        self.step = checkpoint.step
        self._seconds_before = checkpoint.state["seconds"]
