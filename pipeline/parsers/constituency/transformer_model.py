"""benepar's chart model over a transformer, in memory and as a parser folder.

The module and its arithmetic are benepar's; a folder holds what a checkpoint leaves to a hub.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benepar.nkutil import HParams
from benepar.parse_chart import ChartParser

from pipeline.parsers.adapters.folder_files import TRANSFORMER_CONSTITUENCY
from pipeline.parsers.checkpoints.transformer_folder import read_transformer_parser

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
    network: ChartParser


def load_transformer_chart_model(
    folder: Path, *, expected_checksum: str | None = None
) -> tuple[TransformerChartModel, str]:
    """Returns the model of a parser folder and its checksum; see `read_transformer_parser`."""
    return read_transformer_parser(
        folder,
        TRANSFORMER_CONSTITUENCY,
        _build,
        prefix=lambda model: TRANSFORMER_PREFIX,
        expected_checksum=expected_checksum,
    )


def _build(config: dict[str, Any], transformer: Path) -> TransformerChartModel:
    """Returns benepar's module: the transformer's weights are read, the others are random."""
    description = TransformerChartDescription(**config)
    network = ChartParser(
        tag_vocab={tag: i for i, tag in enumerate(description.tags)},
        label_vocab={label: i for i, label in enumerate(description.labels)},
        char_vocab=None,
        hparams=HParams(**description.hparams | {"pretrained_model": str(transformer)}),
    )
    return TransformerChartModel(description, network)
