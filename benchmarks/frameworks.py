"""Measures the training of Tang & de Sa's two frameworks beside plain PyTorch.

``python -m benchmarks.frameworks`` trains the presets B-G and B-D, generative and discriminative,
and the same models written as papers' code usually is: padded batches, `nn.GRU`, autograd, K
negatives drawn for every word. All take whole steps (batch made, forward, backward, clipping, Adam,
orthonormal update) on the same batches, in turns, in one process. ``--views DEP CONST`` also puts
structured views in the place of the bidirectional GRU. The last line it prints is one JSON object.

On a machine with a GPU: ``python -m benchmarks.frameworks --device cuda --corpus FOLDER --steps 20
--warmup 5 --precision float32 tf32 bfloat16``. It needs PyTorch, numpy and pyarrow alone, and of
the data only a parsed corpus: word vectors are random, one for each word of the corpus.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import get_args

import torch

from benchmarks.corpus import add_corpus_options, corpus_folders, identity
from benchmarks.framework_contestants import TrainingText, contestants, read_text
from benchmarks.framework_rate import Comparison, Turns, compare, comparison_table, figures
from benchmarks.harness import Benchmark, Measured, check_least, device_name, device_of, tell
from treeviews.models.config.training_config import Precision, TrainingConfig
from treeviews.models.config.training_presets import preset
from treeviews.models.corpus.parsed_corpus import CorpusFolders
from treeviews.models.training.numerics import (
    MAX_ERROR,
    GemmBackend,
    product_errors,
    training_products,
)
from treeviews.pipeline.base.watched import keep_memory

PRESETS = ("B-G", "B-D")
STRUCTURED_VIEWS = ("DEP", "CONST")
PRODUCTS_WIDTH = 1024
"""Of the products by which it is judged who multiplies exactly."""
QUICK = {"hidden": 128, "batch": 128, "rounds": 2}


def _measure(options: argparse.Namespace) -> Measured:
    check_least(options, hidden=1, rounds=1, steps=1, warmup=1, prefetch=0, word_size=1, threads=1)
    device = device_of(options.device)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    folders = corpus_folders(options.corpus)
    text, turns = _text(folders, options), _turns(options)
    backends = _backends(device)
    comparisons = [_compared(name, text, options, device, backends) for name in PRESETS]
    settings = {
        "device": device_name(device),
        "hidden": options.hidden,
        "batch": options.batch,
        "word_size": options.word_size,
        "threads": torch.get_num_threads(),
        "seed": options.seed,
    }
    return Measured(
        [comparison_table(one, text, turns) for one in comparisons],
        {**figures(comparisons), **settings, **identity(folders)},
        corpus=folders,
        seed=options.seed,
        device=device_name(device),
    )


def _compared(
    preset_name: str,
    text: TrainingText,
    options: argparse.Namespace,
    device: torch.device,
    backends: Sequence[GemmBackend],
) -> Comparison:
    """Returns a framework's comparison; tells on standard error what is being measured."""
    config = _config(preset_name, options)
    tell(f"measuring {preset_name}")
    all_of_it = contestants(
        text,
        config,
        device,
        precisions=list(dict.fromkeys(["float32", *options.precision])),
        other_views=options.views,
        backends=backends,
    )
    return compare(config, all_of_it, text.blocks, _turns(options), device)


def _backends(device: torch.device) -> list[GemmBackend]:
    """Returns the matrix products that an implementation may choose the faster of."""
    if device.type != "cpu":
        return ["default"]
    errors = product_errors(training_products(PRODUCTS_WIDTH))
    return [name for name, error in errors.items() if error <= MAX_ERROR]


def _text(folders: CorpusFolders, options: argparse.Namespace) -> TrainingText:
    return read_text(
        folders,
        _config(PRESETS[0], options),
        ("SEQ", *options.views),
        word_size=options.word_size,
        num_batches=_turns(options).num_batches,
    )


def _config(preset_name: str, options: argparse.Namespace) -> TrainingConfig:
    return preset(
        preset_name,
        hidden_size=2 * options.hidden,
        batch_size=options.batch,
        seed=options.seed,
    )


def _turns(options: argparse.Namespace) -> Turns:
    return Turns(options.rounds, options.steps, options.warmup, options.prefetch)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_corpus_options(parser)
    parser.add_argument("--hidden", type=int, default=1024, help="d, the width of a direction")
    parser.add_argument("--batch", type=int, default=512, help="sentences in a batch")
    parser.add_argument("--threads", type=int, help="of PyTorch; by default as many as it chooses")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--precision",
        choices=get_args(Precision),
        nargs="+",
        default=["float32"],
        help="float32 is always measured; others add rows of ours and of plain PyTorch",
    )
    parser.add_argument(
        "--views",
        choices=STRUCTURED_VIEWS,
        nargs="+",
        default=[],
        help="adds rows of ours with these in the place of the GRU, as wide as both directions",
    )
    parser.add_argument("--rounds", type=int, default=3, help="turns of each implementation")
    parser.add_argument("--steps", type=int, default=2, help="of a turn")
    parser.add_argument("--warmup", type=int, default=1, help="steps of each before the first turn")
    parser.add_argument("--prefetch", type=int, default=2, help="batches prepared ahead in a turn")


main = Benchmark("benchmarks.frameworks", __doc__ or "", _add_options, _measure, QUICK)

if __name__ == "__main__":
    keep_memory()  # as trainings do, for the other implementations, too
    sys.exit(main())
