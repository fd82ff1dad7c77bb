"""Measures how fast shards become batches, beside how fast a training uses them up.

``python -m benchmarks.reader`` reads a parsed corpus as a training does, in one thread without
prefetching, up to batches whose order of computation is found, then trains on them. With --rate it
compares with a training's rate that was measured elsewhere, on a GPU say. The last line it prints
is one JSON object.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from benchmarks.corpus import add_corpus_options, corpus_folders, identity
from benchmarks.quick import parse_arguments
from benchmarks.report import Table, fail, header, print_last_line, print_table, tell
from benchmarks.stopwatch import Spent, Stopwatch
from benchmarks.training_rate import (
    TrainingSetup,
    device_name,
    device_of,
    make_setup,
    measure_training,
)
from models.config.training_config import TrainingConfig
from models.config.training_presets import PRESETS


@dataclass(frozen=True, slots=True)
class ReaderRates:
    """What was measured: what a sentence takes."""

    blocks: Spent
    """From shards to blocks of sentences."""
    batches: Spent
    """From shards to batches in order of computation."""
    training: float
    """That it is compared with, in sentences a second."""
    training_by_cpu: float | None
    """The same by the processor's time; unknown if the rate was given."""
    data_wait_percent: float | None
    """Of the training; unknown if its rate was given."""

    def figures(self) -> dict[str, float]:
        """Returns the numbers of the last line."""
        rate = 1 / self.batches.wall
        figures = {
            "reader_vs_training": round(rate / self.training, 2),
            "reader_sentences_per_second": round(rate, 1),
            "reader_sentences_per_cpu_second": round(1 / self.batches.cpu, 1),
            "training_sentences_per_second": round(self.training, 1),
        }
        if self.data_wait_percent is not None:
            figures["data_wait_percent"] = round(self.data_wait_percent, 2)
        return figures


QUICK = {"hidden": 300, "repeats": 3, "steps": 5}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, or what `fail` says of what went wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse_arguments(_parser(), given, QUICK)
    try:
        config = _config(options)
        torch.set_num_threads(options.threads)
        device = device_of(options.device)
        folders = corpus_folders(options.corpus)
        run = header(
            "benchmarks.reader",
            given,
            corpus=folders,
            seed=config.seed,
            device=device_name(device),
            quick=options.quick,
        )
        setup = make_setup(folders, config, options.word_size)
    except (FileNotFoundError, ValueError) as error:
        return fail(error)
    rates = _measure(setup, device, options)
    print_table(_table(rates, setup, options), run)
    where = "given" if options.rate else device_name(device)
    what = {"training": where, "views": options.views, "hidden_size": options.hidden}
    print_last_line({**rates.figures(), **what, **identity(folders)})
    return 0


def _config(options: argparse.Namespace) -> TrainingConfig:
    for name in ("repeats", "steps", "threads"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name} must be at least 1")
    if options.rate is not None and not options.rate > 0:
        raise ValueError("--rate must be above 0 sentences a second")
    return replace(
        PRESETS["structured-views"],
        views=tuple(options.views.split(",")),
        hidden_size=options.hidden,
        seed=options.seed,
    )


def _measure(
    setup: TrainingSetup, device: torch.device, options: argparse.Namespace
) -> ReaderRates:
    blocks = _best_epoch(setup, options.repeats, prepare=False)
    batches = _best_epoch(setup, options.repeats, prepare=True)
    if options.rate is not None:
        return ReaderRates(blocks, batches, options.rate, None, None)
    training = measure_training(setup, device, steps=options.steps, warmup=1, prefetch=2)
    by_cpu = training.sentences / training.spent.cpu
    return ReaderRates(
        blocks, batches, training.sentences_per_second, by_cpu, training.data_wait_percent
    )


def _table(rates: ReaderRates, setup: TrainingSetup, options: argparse.Namespace) -> Table:
    training = f"training {options.views} at {options.hidden}"
    measured = f"training: mean of {options.steps} steps after one to warm up, 2 batches ahead"
    if options.rate is not None:
        training, measured = "training, its rate as given", "training: not measured here"
    blocks, batches = rates.blocks, rates.batches
    rows = [
        ("shards to blocks of sentences", 1 / blocks.wall, 1 / blocks.cpu),
        ("shards to batches in order of computation", 1 / batches.wall, 1 / batches.cpu),
        (training, rates.training, rates.training_by_cpu),
    ]
    return Table(
        "Reading beside training",
        ("what", "sentences/s", "of the training's rate", "sentences/CPU s"),
        [
            (
                *(name, f"{rate:.1f}", f"{rate / rates.training:.1f}"),
                "-" if by_cpu is None else f"{by_cpu:.1f}",
            )
            for name, rate, by_cpu in rows
        ],
        [
            f"reading: {setup.num_sentences} sentences, the best of {options.repeats} passes, on "
            "the CPU, in one thread without prefetching",
            "a block holds a batch's words and trees as arrays; its order of computation is what "
            f"the encoders of {options.views} go by",
            measured,
        ],
    )


def _best_epoch(setup: TrainingSetup, repeats: int, *, prepare: bool) -> Spent:
    """Returns the least time that a sentence took: on the clock, and of the processor.

    Args:
        prepare: whether blocks are made into batches as well.
    """
    spent = []
    for number in range(repeats):
        tell(f"reading {'batches' if prepare else 'blocks'}: pass {number + 1} of {repeats}")
        watch = Stopwatch()
        if prepare:
            found = sum(batch.num_sentences for batch in setup.blocks(epochs=1, read_ahead=False))
        else:
            found = sum(len(block) for block in setup.batches.from_step(0, epochs=1))
        spent.append(watch.read())
        assert found == setup.num_sentences
    best = Spent(min(one.wall for one in spent), min(one.cpu for one in spent))
    return best.times(1 / setup.num_sentences)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reader", description=(__doc__ or "").partition("\n")[0]
    )
    add_corpus_options(parser)
    parser.add_argument("--views", default="DEP,CONST")
    parser.add_argument("--hidden", type=int, default=1200)
    parser.add_argument("--repeats", type=int, default=3, help="of the reading")
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="cpu", help="of the training"
    )
    parser.add_argument(
        "--rate",
        type=float,
        help="sentences a second of a training measured elsewhere, to compare with instead",
    )
    parser.add_argument("--steps", type=int, default=5, help="of the training")
    parser.add_argument("--threads", type=int, default=1, help="that compute")
    return parser


if __name__ == "__main__":
    sys.exit(main())
