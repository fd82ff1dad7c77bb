"""The loop: one step after another from a checkpoint to the end, every step logged."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import torch

from treeviews.models.corpus.parsed_corpus import ParsedCorpus
from treeviews.models.model.model_folder import save_model
from treeviews.models.model.ranks import Ranks
from treeviews.models.model.sentence_model import SentenceModel, TrainingBatch
from treeviews.models.training.batches import TrainingBatches, make_ahead
from treeviews.models.training.checkpoints import (
    Checkpoint,
    TrainingFolder,
    capture,
    open_checkpoint,
    restore,
)
from treeviews.models.training.learner import Learner, held_out_accuracy, learning_rate_at
from treeviews.models.training.numerics import (
    GemmBackend,
    gemm_for,
    peak_memory_gib,
    set_gpu_precision,
    use_gemm,
)
from treeviews.models.training.training_job import Provenance, TrainingJob, duration
from treeviews.pipeline.base.job import Progress, Rated
from treeviews.pipeline.parsers.devices import warn_if_emulated


class TrainingDivergedError(ValueError):
    """A loss or the gradient is no longer a finite number."""


class TrainingLoop:
    """A training in its folder: resumes from the last checkpoint there, else starts anew."""

    def __init__(
        self,
        model: SentenceModel,
        batches: TrainingBatches,
        held_out: ParsedCorpus,
        job: TrainingJob,
        provenance: Provenance,
        ranks: Ranks,
    ) -> None:
        """Loads the checkpoint, if there is one, and sets up the machine's matrix products.

        Args:
            held_out: opened with the part ``held_out``.

        Raises:
            ValueError: the folder's checkpoint is of another training, or broken; the settings
                cannot be had here.
        """
        self.config = model.config
        self.device = torch.device(job.settings.device)
        self.model = model.to(self.device)
        self.num_steps = self.config.epochs * batches.steps_per_epoch
        self.step = 0
        self.ranks, self.job, self.provenance = ranks, job, provenance
        self._text, self._held_out, self._settings = batches, held_out, job.settings
        self._learner = Learner(self.model, ranks)
        self._seconds_before = 0.0
        checkpoint = open_checkpoint(job.out, provenance.identity, ranks)
        self._is_new = checkpoint is None
        if checkpoint is not None:
            restore(checkpoint.tensors, self.model, self._learner.optimisers)
            self.step = checkpoint.step
            self._seconds_before = checkpoint.state["seconds"]
        self.folder: TrainingFolder | None = None
        if ranks.is_first:
            self.folder = TrainingFolder(
                job.out,
                identity=provenance.identity,
                checkpoint=checkpoint,
                save_best=partial(save_model, model=self.model, origin=provenance.origin),
            )
        self.gemm = self._set_up_products(checkpoint)
        self._started = self._last_checkpoint = time.perf_counter()

    def _set_up_products(self, checkpoint: Checkpoint | None) -> GemmBackend:
        """Has products made as the settings or else the checkpoint say; returns the backend."""
        choice, before = self._settings.gemm, None
        if checkpoint is not None:
            before = checkpoint.state["gemm"]
            choice = before if choice == "auto" else choice
        backend = self.ranks.agreed(gemm_for(choice, self.device))
        if self.device.type == "cpu":
            use_gemm(backend)
        if before not in {None, backend} and self.folder is not None:
            # From here on the last bits are others than those of a run that was never stopped.
            change = {"gemm": backend, "gemm_before": before}
            self.folder.write({"kind": "resumed", "step": self.step, **change})
        set_gpu_precision(self.config.precision, self.device)
        warn_if_emulated(self.config.precision, self.device)
        return backend

    @property
    def seconds(self) -> float:
        """Time spent on the steps that count, over all runs."""
        return self._seconds_before + time.perf_counter() - self._started

    def run(self, on_progress: Progress) -> None:
        """Takes all steps that are left.

        Raises:
            TrainingDivergedError: a loss or the gradient is not finite.
            ValueError: the best weights are to be kept and nothing is held out.
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
        share_before, started = self.step / self.num_steps, time.perf_counter()
        with closing(make_ahead(self._batches(), ahead=self._settings.prefetch)) as batches:
            while self.step < self.num_steps:
                record = self._take_step(batches)
                if self.folder is not None:
                    self.folder.write(record)
                ends_epoch = self.step % self._text.steps_per_epoch == 0
                is_due = ends_epoch or self._is_multiple(self.config.held_out_every_steps)
                is_best = is_due and self._measure_held_out()
                age = time.perf_counter() - self._last_checkpoint
                is_old = age >= self._settings.checkpoint_every_seconds
                if is_best or is_old or self._is_multiple(self._settings.checkpoint_every_steps):
                    self.save_checkpoint()
                share = self.step / self.num_steps
                pace = (time.perf_counter() - started) / (share - share_before)
                status = (
                    f"epoch {record['epoch'] + 1} of {self.config.epochs}, step {self.step} of "
                    f"{self.num_steps}, loss {record['loss']:.3f}, in-batch accuracy "
                    f"{100 * record['in_batch_accuracy']:.1f} % (chance "
                    f"{100 * record['chance']:.1f} %), about {duration(pace * (1 - share))} left"
                )
                on_progress(share, Rated(status, record["sentences_per_second"] * self.ranks.size))

    def _batches(self) -> Generator[TrainingBatch]:
        """Yields this rank's batches from the next step on."""
        with closing(self._text.from_step(self.step, epochs=self.config.epochs)) as blocks:
            for block in blocks:
                yield self.model.training_batch(block, self.ranks, self._settings.sentences_at_once)

    def _take_step(self, batches: Iterator[TrainingBatch]) -> dict[str, Any]:
        started = time.perf_counter()
        batch = next(batches).to(self.device)
        waited = time.perf_counter() - started
        epoch = self.step // self._text.steps_per_epoch
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

    def _learn(self, batch: TrainingBatch) -> dict[str, float]:
        """Moves the weights once; returns what the step's record says of it."""
        # Dropout then depends on nothing that a restart or the number of ranks could change.
        place = np.random.SeedSequence([self.config.seed, self.step])
        torch.manual_seed(int(place.generate_state(1, np.uint64)[0] >> 1))
        learning_rate = learning_rate_at(self.step, self.num_steps, self.config)
        measured = self._learner.measure(batch)
        for name in ("loss", "gradient_norm"):
            if not math.isfinite(measured[name]):
                what = f"{name.replace('_', ' ')} of step {self.step + 1}"
                raise self._diverged(what, measured[name])
        after = self._learner.apply(learning_rate, measured["gradient_norm"])
        return {**measured, **after, "learning_rate": learning_rate}

    def _diverged(self, what: str, value: float) -> TrainingDivergedError:
        """Returns the error, which is the same on all ranks and raised by all of them at once.

        Nothing is saved: the weights have not moved, but the forward pass may have spoilt the
        running means, and the launcher ends all ranks when the first of them fails.
        """
        last = None if self.folder is None else self.folder.last_checkpoint
        kept = self.ranks.agreed(None if last is None else str(last))
        config = self.config
        decoder = f", orthonormal_rate ({config.orthonormal_rate})" if config.has_decoder else ""
        return TrainingDivergedError(
            f"the {what} is {value}; the last good checkpoint is {kept or 'none, as yet'}. "
            f"Lower learning_rate ({config.learning_rate}){decoder} or vector_rms "
            f"({config.vector_rms}), or set gradient_clip"
        )

    def _is_multiple(self, every: int | None) -> bool:
        return every is not None and self.step % every == 0

    def _measure_held_out(self) -> bool:
        """Logs the held-out accuracy, keeps the model if it is the best.

        Returns:
            Whether it is; on the first rank, as the others keep nothing.
        """
        measured: dict[str, Any] = {}
        if self.ranks.is_first:
            measured = held_out_accuracy(
                self.model,
                self._held_out,
                max_batches=self.config.held_out_batches,
                sentences_at_once=self._settings.sentences_at_once,
            )
        measured = self.ranks.agreed(measured)
        if measured["num_anchors"] and not math.isfinite(measured["loss"]):
            raise self._diverged(f"held-out loss after step {self.step}", measured["loss"])
        if self.config.keep == "best" and not measured["num_anchors"]:
            raise ValueError(
                "keep best needs held-out sentences with context; raise held_out_fraction, or "
                "keep last"
            )
        if self.folder is None:
            return False
        epoch = self.step // self._text.steps_per_epoch
        record = {"kind": "held_out", "step": self.step, "epoch": epoch, **measured}
        self.folder.write(record)
        return self.folder.offer(record)

    def save_checkpoint(self) -> None:
        """Writes a checkpoint of the steps done so far, on the first rank."""
        if self.folder is not None:
            tensors = capture(self.model, self._learner.optimisers)
            state = {"seconds": self.seconds, "gemm": self.gemm}
            self.folder.save(self.step, tensors, state)
        self._last_checkpoint = time.perf_counter()
