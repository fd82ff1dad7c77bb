"""benepar's chart model over a transformer, in memory and as a parser folder.

The module and its arithmetic are benepar's; a folder holds what a checkpoint leaves to a hub.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from benepar.nkutil import HParams
from benepar.parse_chart import ChartParser
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from pipeline.parsers.checkpoints.transformer_folder import (
    load_strictly,
    write_transformer_parser,
)
from pipeline.parsers.kinds import TRANSFORMER_CONSTITUENCY, TRANSFORMER_FOLDER
from pipeline.parsers.parser_folder import read_parser_folder

TRANSFORMER_PREFIX = "pretrained_model."
"""How benepar's names of the transformer's weights begin."""


@dataclass(frozen=True, slots=True)
class TransformerChartDescription:
    """What a parser folder says of a model, in JSON's types; an entry's place is its id."""

    hparams: dict[str, Any]
    """benepar's own; ``pretrained_model`` is replaced by the folder's transformer."""
    labels: list[str]
    """The null label "" first; unary chains joined by ``::``."""
    tags: list[str]
    language: str
    """As benepar guesses it from the labels; empty if it cannot. Decides where spaces stand."""


@dataclass(frozen=True, slots=True)
class TransformerChartModel:
    """benepar's chart model with all that is needed to use it."""

    description: TransformerChartDescription
    module: ChartParser


def save_transformer_chart_model(
    folder: Path,
    description: TransformerChartDescription,
    tensors: Mapping[str, Tensor],
    transformer: Any,
    tokenizer: PreTrainedTokenizerBase,
) -> str:
    """Writes a parser folder and returns its checksum.

    Args:
        tensors: the whole module's, by benepar's names.
        transformer: its configuration.

    Raises:
        ValueError: the transformer's weights do not fit its configuration.
    """
    return write_transformer_parser(
        folder,
        TRANSFORMER_CONSTITUENCY,
        asdict(description),
        tensors,
        prefix=TRANSFORMER_PREFIX,
        transformer=transformer,
        tokenizer=tokenizer,
    )


def load_transformer_chart_model(
    folder: Path, *, expected_checksum: str | None = None
) -> tuple[TransformerChartModel, str]:
    """Returns the model of a parser folder and its checksum; asks no hub.

    Leaves torch's global generator as it was.

    Raises:
        ValueError: a file is missing or damaged, holds another kind of parser, or weights and
            description do not fit together; names the file and the remedy.
    """
    config, tensors, checksum = read_parser_folder(
        folder, TRANSFORMER_CONSTITUENCY, expected_checksum=expected_checksum
    )
    try:
        description = TransformerChartDescription(**config)
        with torch.random.fork_rng(devices=[]):
            module = _build(description, folder / TRANSFORMER_FOLDER)
        own = module.state_dict()
        inside = {n: t for n, t in own.items() if n.startswith(TRANSFORMER_PREFIX)}
        load_strictly(module, {**inside, **tensors}, what="the model that parser.json describes")
    except (TypeError, KeyError, ValueError, RuntimeError, OSError, NotImplementedError) as error:
        raise ValueError(
            f"{folder}: its files do not fit together ({error}); restore them together or convert "
            f"the checkpoint again"
        ) from error
    return TransformerChartModel(description, module.eval()), checksum


def _build(description: TransformerChartDescription, transformer: Path) -> ChartParser:
    """Returns benepar's module: the transformer's weights are read, the others are random."""
    return ChartParser(
        tag_vocab={tag: i for i, tag in enumerate(description.tags)},
        label_vocab={label: i for i, label in enumerate(description.labels)},
        char_vocab=None,
        hparams=HParams(**description.hparams | {"pretrained_model": str(transformer)}),
    )
