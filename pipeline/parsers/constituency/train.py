"""Command line: trains a constituency parser from bracketed treebanks into a parser folder."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

from pipeline.parsers.constituency.chart_model import ChartModelConfig
from pipeline.parsers.constituency.training import (
    DEFAULT_OPTIMIZER,
    ConstituencyTrainingConfig,
    train_constituency_parser,
)
from pipeline.parsers.training.command_line import add_number, run_training
from pipeline.parsers.training.steps import PRECISIONS

_OWN_NUMBERS = (
    "min_character_count",
    "batch_tokens",
    "max_sentence_tokens",
    "tag_loss_scale",
    "seed",
)
_OPTIMIZER_NUMBERS = ("num_epochs", "learning_rate", "warmup_epochs", "clip_norm", "averaging")


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains as the arguments say and prints the summary as JSON; returns the exit status."""
    return run_training(train, arguments)


def train(
    arguments: Sequence[str] | None = None,
    *,
    on_progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """Trains as the command line's arguments say; returns the training's summary.

    Args:
        arguments: those of the process where not given.
        on_progress: called after each epoch with the finished share (0 to 1) and a message.

    Raises:
        ValueError: a setting, a file or the output folder is not what it should be.
    """
    options = _argument_parser().parse_args(arguments)
    torch.set_num_threads(options.threads)
    return train_constituency_parser(_config(options), options.out, on_progress)


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pipeline.parsers.constituency.train")
    parser.description = __doc__
    parser.add_argument("out", type=Path, help="folder of the parser; resumes what it holds")
    for name in ("train", "dev"):
        parser.add_argument(
            f"--{name}", type=Path, nargs="+", required=True, help="files of bracketed trees"
        )
        parser.add_argument(
            f"--{name}-documents",
            type=Path,
            nargs="*",
            default=[],
            help=f"a CoNLL-U file for each --{name} file, which tells its sentences' documents",
        )
    parser.add_argument(
        "--exclude", nargs="*", default=[], help="leave out documents whose id begins so"
    )
    parser.add_argument(
        "--initial",
        type=Path,
        help="folder of a parser to go on from; its vocabularies are kept, so "
        "--min-character-count has no effect, and sizes must be given as they are there",
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=PRECISIONS, default=DEFAULT_OPTIMIZER.precision)
    for field in fields(ConstituencyTrainingConfig):
        if field.name in _OWN_NUMBERS:
            add_number(parser, field.name, field.default)
    for name in _OPTIMIZER_NUMBERS:
        add_number(parser, name, getattr(DEFAULT_OPTIMIZER, name))
    for field in fields(ChartModelConfig):
        add_number(parser, field.name, field.default)
    return parser


def _config(options: argparse.Namespace) -> ConstituencyTrainingConfig:
    given = vars(options)
    numbers = {name: given[name] for name in _OPTIMIZER_NUMBERS}
    return ConstituencyTrainingConfig(
        train_files=tuple(options.train),
        dev_files=tuple(options.dev),
        train_documents=tuple(options.train_documents),
        dev_documents=tuple(options.dev_documents),
        exclude_document_prefixes=tuple(options.exclude),
        initial_parser=options.initial,
        model=ChartModelConfig(**{f.name: given[f.name] for f in fields(ChartModelConfig)}),
        optimizer=replace(DEFAULT_OPTIMIZER, precision=options.precision, **numbers),
        **{name: given[name] for name in _OWN_NUMBERS},
    )


if __name__ == "__main__":
    raise SystemExit(main())
