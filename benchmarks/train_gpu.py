"""Measures how many sentences a second a training takes, on a GPU or the CPU.

``python -m benchmarks.train_gpu --corpus FOLDER`` needs PyTorch, numpy and pyarrow alone, and of
the data only a parsed corpus, so that it runs on a bare machine: word vectors are random, one for
each word of the corpus. The last line it prints is one JSON object.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from benchmarks.corpus import add_corpus_options, corpus_folders, identity
from benchmarks.quick import parse_arguments
from benchmarks.report import Table, fail, header, print_last_line, print_table
from benchmarks.training_rate import (
    RATE_COLUMNS,
    RATE_NOTES,
    TrainingRate,
    TrainingSetup,
    device_name,
    device_of,
    make_setup,
    measure_training,
    rate_row,
)
from models.config.training_config import Precision, TrainingConfig
from models.config.training_presets import PRESETS

PUBLISHED_SENTENCES = 40e6
"""Simoulin & Crabbé 2021 trained on 40 M sentences, for 39 hours on a GTX 1080 Ti."""

COLUMNS = ("views", "width", "batch", "precision", *RATE_COLUMNS, "hours for 40 M")

QUICK = {"device": "cuda", "steps": 50}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, or what `fail` says of what went wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse_arguments(_parser(), given, QUICK)
    try:
        device = device_of(options.device)
        name = device_name(device)
        config = _config(options)
        folders = corpus_folders(options.corpus)
        run = header(
            *("benchmarks.train_gpu", given),
            corpus=folders,
            seed=config.seed,
            device=name,
            quick=options.quick,
        )
        setup = make_setup(folders, config, options.word_size)
    except (FileNotFoundError, ValueError) as error:
        return fail(error)
    rate = measure_training(
        setup, device, steps=options.steps, warmup=options.warmup, prefetch=options.prefetch
    )
    print_table(_table(rate, setup, options), run)
    print_last_line({"device": name, **_figures(rate, config), **identity(folders)})
    return 0


def _table(rate: TrainingRate, setup: TrainingSetup, options: argparse.Namespace) -> Table:
    config = setup.model.config
    what = (",".join(config.views), str(config.hidden_size), str(config.batch_size))
    return Table(
        "How fast a training goes",
        COLUMNS,
        [(*what, config.precision, *rate_row(rate), f"{_hours(rate):.2f}")],
        [
            f"mean of {rate.steps} steps after {options.warmup} to warm up; a corpus of "
            f"{setup.num_sentences} sentences in {setup.batches.steps_per_epoch} batches, gone "
            f"through as often as needed; {options.prefetch} batches prepared ahead",
            "width: values in each view's vector of a sentence; batch: sentences at most",
            *RATE_NOTES,
            "hours for 40 M: for one epoch of the published training's 40 million sentences, at "
            "this rate",
        ],
    )


def _figures(rate: TrainingRate, config: TrainingConfig) -> dict[str, float | str]:
    return {
        "views": ",".join(config.views),
        "hidden_size": config.hidden_size,
        "batch_size": config.batch_size,
        "precision": config.precision,
        "sentences_per_second": round(rate.sentences_per_second, 1),
        "hours_for_40m": round(_hours(rate), 3),
        "data_wait_percent": round(rate.data_wait_percent, 2),
        "peak_memory_gib": round(rate.peak_memory_gib, 3),
    }


def _hours(rate: TrainingRate) -> float:
    return PUBLISHED_SENTENCES / rate.sentences_per_second / 3600


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.train_gpu", description=(__doc__ or "").partition("\n")[0]
    )
    add_corpus_options(parser)
    parser.add_argument("--views", default="DEP,CONST")
    parser.add_argument("--hidden", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=400, help="sentences in a batch")
    parser.add_argument("--precision", choices=get_args(Precision), default="float32")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--warmup", type=int, default=10, help="steps before the clock starts")
    parser.add_argument("--prefetch", type=int, default=2, help="batches prepared ahead")
    return parser


def _config(options: argparse.Namespace) -> TrainingConfig:
    """Returns the published training with the given views, width, batch and precision."""
    for name, least in (("steps", 1), ("warmup", 0), ("prefetch", 0), ("word_size", 1)):
        if getattr(options, name) < least:
            raise ValueError(f"--{name.replace('_', '-')} must be at least {least}")
    return replace(
        PRESETS["structured-views"],
        views=tuple(options.views.split(",")),
        hidden_size=options.hidden,
        batch_size=options.batch,
        precision=options.precision,
        seed=options.seed,
    )


if __name__ == "__main__":
    sys.exit(main())
