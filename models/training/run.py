"""The loop: one step after another from a checkpoint to the end, every step logged."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from models.contrastive_model import ContrastiveBatch, ContrastiveModel
from models.corpus.parsed_corpus import ParsedCorpus
from models.model_folder import save_model
from models.training.batches import TrainingBatches
from models.training.checkpoints import capture, restore
from models.training.context_accuracy import held_out_context_accuracy
from models.training.folder import Provenance, TrainingFolder, open_checkpoint
from models.training.learner import Learner
from models.training.learning_rate import learning_rate_at
from models.training.machine import gemm_for, peak_memory_gib, set_gemm, set_gpu_precision
from models.training.prefetch import prefetched
from models.training.progress import TimeLeft, progress_bar
from models.training.ranks import Ranks
from models.training.settings import RunSettings
from pipeline.job import Progress


class TrainingDivergedError(ValueError):
    """The loss or the gradient is no longer a finite number."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """What a training reads."""

    batches: TrainingBatches
    held_out: ParsedCorpus
    """Opened with the part ``held_out``."""


class TrainingRun:
    """A training in its folder: resumes from the last checkpoint there, else starts anew."""

    def __init__(
        self,
        model: ContrastiveModel,
        data: TrainingData,
        out: Path,
        provenance: Provenance,
        *,
        settings: RunSettings,
        ranks: Ranks,
    ) -> None:
        """Loads the checkpoint, if there is one, and sets up the machine's matrix products.

        Raises:
            ValueError: the folder's checkpoint is of another training, or broken; the settings
                cannot be had here; more ranks than sentences in a batch.
        """
        self.config = model.config
        self.device = torch.device(settings.device)
        self.model = model.to(self.device)
        self.num_steps = self.config.epochs * data.batches.steps_per_epoch
        self.step = 0
        self._data, self._settings, self._ranks = data, settings, ranks
        if data.batches.smallest < ranks.size:
            raise ValueError(
                f"{ranks.size} processes for a batch of {data.batches.smallest} sentences; use "
                "fewer processes or a larger batch_size"
            )
        self._learner = Learner(self.model, ranks)
        self._seconds_before = 0.0
        checkpoint = open_checkpoint(out, provenance.identity, ranks)
        self._is_new = checkpoint is None
        gemm = settings.gemm
        if checkpoint is not None:
            restore(checkpoint.tensors, self.model, self._learner.optimiser)
            self.step = checkpoint.step
            self._seconds_before = checkpoint.state["seconds"]
            gemm = checkpoint.state["gemm"]
        self.gemm = set_gemm(ranks.agreed(gemm_for(gemm, self.device)), self.device)
        set_gpu_precision(self.config.precision, self.device)
        self.folder: TrainingFolder | None = None
        if ranks.is_first:
            keeps_best = settings.keep_best or self.config.keep == "best"
            save_best = partial(save_model, model=self.model, origin=provenance.origin)
            self.folder = TrainingFolder(
                out,
                identity=provenance.identity,
                settings=settings,
                checkpoint=checkpoint,
                save_best=save_best if keeps_best else None,
            )
        self._started = self._last_checkpoint = time.perf_counter()

    @property
    def num_ranks(self) -> int:
        """Processes that train together."""
        return self._ranks.size

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
            if self._is_new:
                self._measure_held_out()
                self.save_checkpoint()  # which matrix product was chosen, and the untrained model
            self._run_steps(on_progress)
        finally:
            if self.folder is not None:
                self.folder.close()

    def _run_steps(self, on_progress: Progress) -> None:
        self.model.train()
        shown = self._settings.progress_bar if self._ranks.is_first else False
        time_left = TimeLeft(self.step / self.num_steps)
        with (
            prefetched(self._batches(), ahead=self._settings.prefetch) as batches,
            progress_bar(self.num_steps, initial=self.step, shown=shown) as bar,
        ):
            while self.step < self.num_steps:
                record = self._take_step(batches)
                if self.folder is not None:
                    self.folder.write(record)
                is_best = self._held_out_is_due() and self._measure_held_out()
                if is_best or self._checkpoint_is_due():
                    self.save_checkpoint()
                bar.advance(loss=record["loss"], accuracy=record["in_batch_accuracy"])
                share = self.step / self.num_steps
                on_progress(share, f"{self._status(record)}, {time_left.after(share)}")

    def _batches(self) -> Iterator[ContrastiveBatch]:
        """Yields this rank's batches from the next step on."""
        blocks = self._data.batches.from_step(
            self.step, epochs=self.config.epochs, read_ahead=self._settings.prefetch > 0
        )
        for block in blocks:
            yield self.model.training_batch(block, self._ranks)

    def _take_step(self, batches: Iterator[ContrastiveBatch]) -> dict[str, Any]:
        started = time.perf_counter()
        batch = next(batches).to(self.device)
        waited = time.perf_counter() - started
        epoch = self.step // self._data.batches.steps_per_epoch
        learnt = self._learn(batch)
        self.step += 1
        took = time.perf_counter() - started
        return {
            "kind": "train",
            "step": self.step,
            "epoch": epoch,
            **learnt,
            "sentences": batch.num_sentences,
            "sentences_per_second": round(batch.num_sentences / took, 1),
            "data_wait_percent": round(100 * waited / took, 2),
            "peak_memory_gib": round(peak_memory_gib(self.device), 3),
            "seconds": round(self.seconds, 3),
        }

    def _learn(self, batch: ContrastiveBatch) -> dict[str, float]:
        """Moves the weights once; returns what the step's record says of it."""
        # Dropout then depends on nothing that a restart could change, and differs between ranks.
        place = np.random.SeedSequence([self.config.seed, self.step, self._ranks.rank])
        torch.manual_seed(int(place.generate_state(1, np.uint64)[0] >> 1))
        learning_rate = learning_rate_at(self.step, self.num_steps, self.config)
        measured = self._learner.measure(batch)
        for name in ("loss", "gradient_norm"):
            if not math.isfinite(measured[name]):
                raise self._diverged(name.replace("_", " "), measured[name])
        self._learner.apply(learning_rate, measured["gradient_norm"])
        return {**measured, "learning_rate": learning_rate}

    def _diverged(self, name: str, value: float) -> TrainingDivergedError:
        """Returns the error after keeping the weights from before the step."""
        kept = "the checkpoints"
        if self.folder is not None:
            # The step has not moved the weights, but its forward may have spoilt running means.
            if self._learner.is_finite():
                self.save_checkpoint()
            kept = str(self.folder.last_saved or self.folder.checkpoints)
        return TrainingDivergedError(
            f"the {name} of step {self.step + 1} is {value}; the last good checkpoint is {kept}. "
            f"Lower learning_rate ({self.config.learning_rate}) or vector_rms "
            f"({self.config.vector_rms}), or set gradient_clip"
        )

    def _held_out_is_due(self) -> bool:
        every = self.config.held_out_every_steps
        ends_epoch = self.step % self._data.batches.steps_per_epoch == 0
        return ends_epoch or (every is not None and self.step % every == 0)

    def _measure_held_out(self) -> bool:
        """Logs the held-out accuracy, keeps the model if it is the best; returns whether it is."""
        if self.folder is None:
            return False
        measured = held_out_context_accuracy(
            self.model, self._data.held_out, max_batches=self.config.held_out_batches
        )
        if self.config.keep == "best" and not measured.num_anchors:
            raise ValueError(
                "keep best needs held-out sentences with context; raise held_out_fraction, or "
                "keep last"
            )
        epoch = self.step // self._data.batches.steps_per_epoch
        record = {"kind": "held_out", "step": self.step, "epoch": epoch, **asdict(measured)}
        self.folder.write(record)
        return self.folder.best.offer(record)

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
        """Writes a checkpoint of the steps done so far, on the first rank."""
        if self.folder is not None:
            tensors = capture(self.model, self._learner.optimiser)
            state = {"seconds": self.seconds, "gemm": self.gemm}
            self.folder.save(self.step, tensors, state)
        self._last_checkpoint = time.perf_counter()
