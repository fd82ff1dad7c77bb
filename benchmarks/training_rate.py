"""How fast the training path goes: shards, batches, prefetching, two views, objective, Adam."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import torch

from benchmarks.corpus import random_vectors
from benchmarks.report import LackingError, tell
from benchmarks.stopwatch import Spent, Stopwatch
from models.config.training_config import TrainingConfig
from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus, Selection
from models.model.ranks import ALONE
from models.model.sentence_model import SentenceModel, TrainingBatch, build_model
from models.training.batches import TrainingBatches, cut, prefetched
from models.training.learner import Learner
from models.training.machine import peak_memory_gib, set_gemm, set_gpu_precision

Moment: TypeAlias = "float | torch.cuda.Event"


@dataclass(frozen=True, slots=True)
class TrainingSetup:
    """An untrained model and what it is trained on."""

    model: SentenceModel
    batches: TrainingBatches
    num_sentences: int
    """Of an epoch: all usable ones but those that are alone in their shard."""

    def blocks(self, *, epochs: int, read_ahead: bool) -> Iterator[TrainingBatch]:
        """Yields the batches of whole epochs, ready to be computed, on the CPU."""
        for block in self.batches.from_step(0, epochs=epochs, read_ahead=read_ahead):
            yield self.model.training_batch(block)


@dataclass(frozen=True, slots=True)
class TrainingRate:
    """What was measured over some steps."""

    steps: int
    sentences: int
    spent: Spent
    waited_seconds: float
    """Of those on the clock, in which the device had nothing to compute with, until a batch was
    ready and had been copied to it."""
    peak_memory_gib: float

    @property
    def sentences_per_second(self) -> float:
        """Of all steps together."""
        return self.sentences / self.spent.wall

    @property
    def data_wait_percent(self) -> float:
        """Share of the time in which there was nothing to compute with."""
        return 100 * self.waited_seconds / self.spent.wall


def device_of(name: str) -> torch.device:
    """Returns the device that ``auto``, ``cpu`` or ``cuda`` means here.

    Raises:
        ValueError: there is none.
    """
    has_cuda = torch.cuda.is_available()
    if name == "cuda" and not has_cuda:
        raise LackingError("--device cuda: PyTorch finds no CUDA device here; use --device cpu")
    return torch.device("cuda" if has_cuda and name != "cpu" else "cpu")


def device_name(device: torch.device) -> str:
    """Returns what a table calls the device."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def make_setup(folders: CorpusFolders, config: TrainingConfig, word_size: int) -> TrainingSetup:
    """Returns a model of this configuration over all of a corpus, with random word vectors.

    Raises:
        ValueError: the corpus holds nothing to train on.
    """
    vectors = random_vectors(folders, word_size, config.seed)
    selection = Selection("all", config.hold_out, config.max_tokens)
    parsed = ParsedCorpus(folders, vectors, views=config.views, selection=selection)
    rows = parsed.survey().rows
    batches = TrainingBatches(parsed, rows, batch_size=config.batch_size, seed=config.seed)
    if not batches.steps_per_epoch:
        raise ValueError(f"{folders.sentences.parent}: no shard of it holds two parsed sentences")
    ranges = (one for count in rows for one in cut(count, config.batch_size))
    num_sentences = sum(stop - start for start, stop in ranges)
    return TrainingSetup(build_model(config, vectors, config.seed), batches, num_sentences)


def measure_training(
    setup: TrainingSetup, device: torch.device, *, steps: int, warmup: int, prefetch: int
) -> TrainingRate:
    """Returns how fast the training takes its steps; epochs follow one another as needed.

    Args:
        warmup: steps before the clock starts, in which kernels are chosen and memory is taken.
        prefetch: batches prepared ahead, as `models.training.job.RunSettings` has it.
    """
    config = setup.model.config
    set_gemm("auto", device)
    set_gpu_precision(config.precision, device)
    learner = Learner(setup.model.to(device).train(), ALONE)
    epochs = -(-(warmup + steps) // setup.batches.steps_per_epoch)
    sentences = 0
    waits: list[tuple[Moment, Moment]] = []
    with prefetched(
        setup.blocks(epochs=epochs, read_ahead=prefetch > 0), ahead=prefetch
    ) as batches:
        tell(f"training: {warmup} steps to warm up, then {steps}")
        for batch in islice(batches, warmup):
            _learn(learner, batch.to(device))
        wait_for(device)
        watch = Stopwatch()
        for _ in range(steps):
            idle = _moment(device)
            batch = next(batches).to(device)
            waits.append((idle, _moment(device)))
            _learn(learner, batch)
            sentences += batch.num_sentences
        wait_for(device)
        spent = watch.read()
    waited = sum(_seconds_between(*wait) for wait in waits)
    return TrainingRate(steps, sentences, spent, waited, peak_memory_gib(device))


def rate_row(rate: TrainingRate) -> Sequence[str]:
    """Returns a rate as cells of a table under `RATE_COLUMNS`."""
    return (
        f"{rate.sentences_per_second:.1f}",
        f"{1e3 * rate.spent.wall / rate.steps:.2f}",
        f"{1e3 * rate.spent.cpu / rate.steps:.2f}",
        f"{rate.data_wait_percent:.1f}",
        f"{rate.peak_memory_gib:.2f}",
    )


RATE_COLUMNS = ("sentences/s", "ms a step", "CPU ms a step", "data wait %", "peak memory GiB")
RATE_NOTES = (
    "a step: shards read, batch made, encoded in each view, contrastive loss, gradients, Adam; "
    "word vectors drawn at random, not trained",
    "CPU ms a step: of the processor, by all threads of the process; a GPU's work is not in it",
    "data wait %: share of the time in which the device had nothing to compute with, until the "
    "next batch was ready and copied to it",
    "peak memory GiB: of the device if that is a GPU, else of the whole process",
)


def _learn(learner: Learner, batch: TrainingBatch) -> None:
    measured = learner.measure(batch)
    learner.apply(learner.model.config.learning_rate, measured["gradient_norm"])


def _moment(device: torch.device) -> Moment:
    """Returns the moment at which the device has done what it was given so far.

    On CUDA by the device's own clock, without waiting for it, so that it has work before it is
    done as it has in a training.
    """
    if device.type != "cuda":
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record(torch.cuda.current_stream(device))
    return event


def _seconds_between(start: Moment, end: Moment) -> float:
    """Returns the seconds between two moments of a device that has since been waited for."""
    if isinstance(start, float) or isinstance(end, float):
        assert isinstance(start, float) and isinstance(end, float)
        return end - start
    return float(start.elapsed_time(end)) / 1e3


def wait_for(device: torch.device) -> None:
    """Returns when the device has done all it was given; a CPU has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
