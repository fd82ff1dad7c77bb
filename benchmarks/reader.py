"""Measures how fast shards become batches, beside how fast a training uses them up.

``python -m benchmarks.reader`` reads a parsed corpus as a training does, in one thread without
prefetching, up to batches whose order of computation is found, then trains on them. The last line
it prints is one JSON object.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import torch

from benchmarks.corpus import add_corpus_options
from benchmarks.report import fail, header, markdown_table, print_last_line, print_lines
from benchmarks.training_rate import TrainingSetup, make_setup, measure_training
from models.training.config import PRESETS

COLUMNS = ("what", "sentences/s", "of the training's rate")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, or 2 for a user's mistake."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(given)
    torch.set_num_threads(options.threads)
    try:
        for name in ("repeats", "steps", "threads"):
            if getattr(options, name) < 1:
                raise ValueError(f"--{name} must be at least 1")
        config = replace(
            PRESETS["structured-views"],
            views=tuple(options.views.split(",")),
            hidden_size=options.hidden,
            seed=options.seed,
        )
        print_lines(header("benchmarks.reader", given, seed=config.seed))
        setup = make_setup(options.corpus, config, options.word_size)
    except (FileNotFoundError, ValueError) as error:
        return fail(str(error))
    _measure(setup, options)
    return 0


def _measure(setup: TrainingSetup, options: argparse.Namespace) -> None:
    """Measures and prints the table and the last line."""
    shards = setup.num_sentences / _best_epoch(setup, options.repeats, prepare=False)
    reader = setup.num_sentences / _best_epoch(setup, options.repeats, prepare=True)
    cpu = torch.device("cpu")
    training = measure_training(setup, cpu, steps=options.steps, warmup=1, prefetch=2)
    rate = training.sentences_per_second
    rows = [
        ("shards to blocks of sentences", shards),
        ("shards to batches in order of computation", reader),
        (f"training {options.views} at {options.hidden}", rate),
    ]
    print_lines(markdown_table(COLUMNS, [(n, f"{r:.1f}", f"{r / rate:.1f}") for n, r in rows]))
    print_lines([f"{setup.num_sentences} sentences; best of {options.repeats} epochs of reading"])
    print_last_line(
        {
            "reader_vs_training": round(reader / rate, 2),
            "reader_sentences_per_second": round(reader, 1),
            "training_sentences_per_second": round(rate, 1),
            "data_wait_percent": round(training.data_wait_percent, 2),
        }
    )


def _best_epoch(setup: TrainingSetup, repeats: int, *, prepare: bool) -> float:
    """Returns the seconds of the fastest pass over the corpus.

    Args:
        prepare: whether blocks are made into batches as well.
    """
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        if prepare:
            found = sum(batch.num_sentences for batch in setup.blocks(epochs=1, read_ahead=False))
        else:
            found = sum(len(block) for block in setup.batches.from_step(0, epochs=1))
        seconds.append(time.perf_counter() - started)
        assert 0 < found <= setup.num_sentences
    return min(seconds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reader", description=(__doc__ or "").partition("\n")[0]
    )
    add_corpus_options(parser)
    parser.add_argument("--views", default="DEP,CONST")
    parser.add_argument("--hidden", type=int, default=1200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5, help="of the training")
    parser.add_argument("--threads", type=int, default=1, help="that compute")
    return parser


if __name__ == "__main__":
    sys.exit(main())
