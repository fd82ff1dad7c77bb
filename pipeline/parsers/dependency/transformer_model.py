"""A biaffine dependency parser over a transformer, in memory and as a parser folder.

The network and its arithmetic are supar's; a folder holds what supar's checkpoint leaves to a hub.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from pipeline.parsers.checkpoints.transformer_folder import (
    load_strictly,
    write_transformer_parser,
)
from pipeline.parsers.dependency.network import BiaffineNetwork
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary
from pipeline.parsers.kinds import TRANSFORMER_DEPENDENCY, TRANSFORMER_FOLDER
from pipeline.parsers.parser_folder import read_parser_folder


@dataclass(frozen=True, slots=True)
class SubwordRules:
    """How supar turns a token into subwords."""

    pad_id: int
    unknown_id: int
    root_id: int
    """The one subword of the artificial root."""
    max_per_token: int
    """Further subwords of a token are not seen."""
    space_before: bool
    """Whether a token is read with a space before it, as GPT-2's and RoBERTa's are."""


@dataclass(frozen=True)
class TransformerDependencyModel:
    """A network with all that its input is made with."""

    network: BiaffineNetwork
    tokenizer: PreTrainedTokenizerBase
    subwords: SubwordRules
    relations: list[str]
    vocabulary: DependencyVocabulary | None
    """Of the words and characters beside the subwords; None if there are none."""


@dataclass(frozen=True, slots=True)
class TransformerDependencyDescription:
    """What a parser folder says of a model, in JSON's types."""

    network: dict[str, Any]
    """Arguments of supar's model."""
    subwords: dict[str, Any]
    relations: list[str]
    vocabulary: dict[str, Any] | None


def transformer_prefix(encoder: str) -> str:
    """Returns how supar's names of a transformer's weights begin."""
    return "encoder.bert." if encoder == "bert" else "bert_embed.bert."


def save_transformer_dependency_model(
    folder: Path,
    description: TransformerDependencyDescription,
    tensors: Mapping[str, Tensor],
    transformer: Any,
    tokenizer: PreTrainedTokenizerBase,
) -> str:
    """Writes a parser folder and returns its checksum.

    Args:
        tensors: the whole network's, by supar's names.
        transformer: its configuration.

    Raises:
        ValueError: the transformer's weights do not fit its configuration.
    """
    return write_transformer_parser(
        folder,
        TRANSFORMER_DEPENDENCY,
        asdict(description),
        tensors,
        prefix=transformer_prefix(description.network["encoder"]),
        transformer=transformer,
        tokenizer=tokenizer,
    )


def load_transformer_dependency_model(
    folder: Path, *, expected_checksum: str | None = None
) -> tuple[TransformerDependencyModel, str]:
    """Returns the model of a parser folder and its checksum; asks no hub.

    Leaves torch's global generator as it was.

    Raises:
        ValueError: a file is missing or damaged, holds another kind of parser, or weights and
            description do not fit together; names the file and the remedy.
    """
    config, tensors, checksum = read_parser_folder(
        folder, TRANSFORMER_DEPENDENCY, expected_checksum=expected_checksum
    )
    transformer = folder / TRANSFORMER_FOLDER
    try:
        description = TransformerDependencyDescription(**config)
        vocabulary = description.vocabulary and DependencyVocabulary(**description.vocabulary)
        with torch.random.fork_rng(devices=[]):
            network = BiaffineNetwork(**description.network | {"bert": str(transformer)})
        _load_outside(network, tensors, transformer_prefix(description.network["encoder"]))
        model = TransformerDependencyModel(
            network=network.eval(),
            tokenizer=AutoTokenizer.from_pretrained(transformer),
            subwords=SubwordRules(**description.subwords),
            relations=description.relations,
            vocabulary=vocabulary or None,
        )
    except (TypeError, KeyError, ValueError, RuntimeError, OSError) as error:
        raise ValueError(
            f"{folder}: its files do not fit together ({error}); restore them together or convert "
            f"the checkpoint again"
        ) from error
    return model, checksum


def _load_outside(network: BiaffineNetwork, tensors: Mapping[str, Tensor], prefix: str) -> None:
    inside = {n: t for n, t in network.state_dict().items() if n.startswith(prefix)}
    load_strictly(network, {**inside, **tensors}, what="the network that parser.json describes")
