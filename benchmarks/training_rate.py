"""How fast the training path goes: shards, batches, prefetching, two views, objective, Adam."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch

from benchmarks.corpus import corpus_folders, random_vectors
from models.contrastive_model import ContrastiveBatch, ContrastiveModel, build_model
from models.corpus.parsed_corpus import ParsedCorpus, Selection
from models.training.batches import TrainingBatches
from models.training.config import TrainingConfig
from models.training.learner import Learner
from models.training.machine import peak_memory_gib
from models.training.prefetch import prefetched
from models.training.process_state import set_gemm, set_gpu_precision
from models.training.ranks import ALONE


@dataclass(frozen=True, slots=True)
class TrainingSetup:
    """An untrained model and what it is trained on."""

    model: ContrastiveModel
    batches: TrainingBatches
    num_sentences: int
    """Of an epoch."""

    def blocks(self, *, epochs: int, read_ahead: bool) -> Iterator[ContrastiveBatch]:
        """Yields the batches of whole epochs, ready to be computed, on the CPU."""
        for block in self.batches.from_step(0, epochs=epochs, read_ahead=read_ahead):
            yield self.model.training_batch(block)


@dataclass(frozen=True, slots=True)
class TrainingRate:
    """What was measured over some steps."""

    steps: int
    sentences: int
    seconds: float
    waited_seconds: float
    """Of these, for batches to be ready and on the device."""
    peak_memory_gib: float

    @property
    def sentences_per_second(self) -> float:
        """Of all steps together."""
        return self.sentences / self.seconds

    @property
    def data_wait_percent(self) -> float:
        """Share of the time in which there was nothing to compute with."""
        return 100 * self.waited_seconds / self.seconds


def make_setup(corpus: Path | None, config: TrainingConfig, word_size: int) -> TrainingSetup:
    """Returns a model of this configuration over all of a corpus, with random word vectors.

    Raises:
        FileNotFoundError: no such corpus.
        ValueError: it holds nothing to train on.
    """
    folders = corpus_folders(corpus)
    vectors = random_vectors(folders, word_size, config.seed)
    selection = Selection("all", config.hold_out, config.max_tokens)
    parsed = ParsedCorpus(folders, vectors, views=config.views, selection=selection)
    rows = parsed.survey().rows
    batches = TrainingBatches(parsed, rows, batch_size=config.batch_size, seed=config.seed)
    if not batches.steps_per_epoch:
        raise ValueError(f"{folders.sentences.parent}: no shard of it holds two parsed sentences")
    return TrainingSetup(build_model(config, vectors, config.seed), batches, sum(rows))


def measure_training(
    setup: TrainingSetup, device: torch.device, *, steps: int, warmup: int, prefetch: int
) -> TrainingRate:
    """Returns how fast the training takes its steps; epochs follow one another as needed.

    Args:
        warmup: steps before the clock starts, in which kernels are chosen and memory is taken.
        prefetch: batches prepared ahead, as `models.training.settings.RunSettings` has it.
    """
    config = setup.model.config
    set_gemm("auto", device)
    set_gpu_precision(config.precision, device)
    learner = Learner(setup.model.to(device).train(), ALONE)
    epochs = -(-(warmup + steps) // setup.batches.steps_per_epoch)
    sentences, waited = 0, 0.0
    with prefetched(
        setup.blocks(epochs=epochs, read_ahead=prefetch > 0), ahead=prefetch
    ) as batches:
        for batch in islice(batches, warmup):
            _learn(learner, batch.to(device))
        _wait_for(device)
        started = time.perf_counter()
        for _ in range(steps):
            asked = time.perf_counter()
            batch = next(batches).to(device)
            waited += time.perf_counter() - asked
            _learn(learner, batch)
            sentences += batch.num_sentences
        _wait_for(device)
        seconds = time.perf_counter() - started
    return TrainingRate(steps, sentences, seconds, waited, peak_memory_gib(device))


def rate_row(rate: TrainingRate) -> Sequence[str]:
    """Returns a rate as cells of a table under `RATE_COLUMNS`."""
    return (
        f"{rate.sentences_per_second:.1f}",
        f"{1e3 * rate.seconds / rate.steps:.2f}",
        f"{rate.data_wait_percent:.1f}",
        f"{rate.peak_memory_gib:.2f}",
    )


RATE_COLUMNS = ("sentences/s", "ms a step", "data wait %", "peak memory GiB")


def _learn(learner: Learner, batch: ContrastiveBatch) -> None:
    measured = learner.measure(batch)
    learner.apply(learner.model.config.learning_rate, measured["gradient_norm"])


def _wait_for(device: torch.device) -> None:
    """Returns when the device has done all it was given; a CPU has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
