"""Command line: trains a dependency parser from CoNLL-U treebanks into a parser folder."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from pipeline.parsers.dependency.network import Dropouts, NetworkSizes
from pipeline.parsers.dependency.training import DependencyTrainingConfig, train_dependency_parser
from pipeline.parsers.training.command_line import add_number, run_training
from pipeline.parsers.training.steps import PRECISIONS, OptimizerConfig

_OWN_NUMBERS = (
    "num_word_vectors",
    "min_word_frequency",
    "unknown_word_alpha",
    "batch_tokens",
    "max_sentence_tokens",
    "seed",
)
_GROUPS: dict[str, type] = {
    "sizes": NetworkSizes,
    "dropouts": Dropouts,
    "optimizer": OptimizerConfig,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains as the arguments say and prints the summary as JSON; returns the exit status."""
    return run_training(train, arguments)


def train(
    arguments: Sequence[str] | None = None,
    *,
    on_progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """Trains as the command line's arguments say; returns ``train_dependency_parser``'s summary.

    Args:
        arguments: those of the process where not given.
        on_progress: called after each epoch with the finished share (0 to 1) and a message.

    Raises:
        ValueError: a setting, a file or the output folder is not what it should be.
    """
    options = _argument_parser().parse_args(arguments)
    torch.set_num_threads(options.threads)
    return train_dependency_parser(_config(options), options.out, on_progress)


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pipeline.parsers.dependency.train")
    parser.description = __doc__
    parser.add_argument("out", type=Path, help="folder of the parser; resumes what it holds")
    parser.add_argument("--train", type=Path, nargs="+", required=True, help="CoNLL-U files")
    parser.add_argument("--dev", type=Path, nargs="+", required=True, help="CoNLL-U files")
    parser.add_argument(
        "--exclude", nargs="*", default=[], help="leave out documents whose id begins so"
    )
    parser.add_argument(
        "--vectors", type=Path, help="folder of word vectors that are added to the learned ones"
    )
    parser.add_argument(
        "--initial",
        type=Path,
        help="folder of a parser to go on from; its vocabularies are kept, so "
        "--min-word-frequency has no effect, and sizes must be given as they are there",
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=PRECISIONS, default=PRECISIONS[0])
    for field in fields(DependencyTrainingConfig):
        if field.name in _OWN_NUMBERS:
            add_number(parser, field.name, field.default)
    for name, group in _GROUPS.items():
        for field in fields(group):
            if isinstance(field.default, int | float):
                add_number(parser, _flag(name, field.name), field.default)
    return parser


def _flag(group: str, name: str) -> str:
    return f"{name}_dropout" if group == "dropouts" else name


def _config(options: argparse.Namespace) -> DependencyTrainingConfig:
    given = vars(options)
    groups = {
        name: group(
            **{
                f.name: given[_flag(name, f.name)]
                for f in fields(group)
                if _flag(name, f.name) in given
            }
        )
        for name, group in _GROUPS.items()
    }
    return DependencyTrainingConfig(
        train_files=tuple(options.train),
        dev_files=tuple(options.dev),
        exclude_document_prefixes=tuple(options.exclude),
        word_vectors=options.vectors,
        initial_parser=options.initial,
        **groups,
        **{name: given[name] for name in _OWN_NUMBERS},
    )


if __name__ == "__main__":
    raise SystemExit(main())
