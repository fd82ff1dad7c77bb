"""A biaffine dependency parser over a transformer, in memory and as a parser folder.

The network and its arithmetic are supar's; a folder holds what supar's checkpoint leaves to a hub.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from pipeline.parsers.adapters.folder_files import TRANSFORMER_DEPENDENCY
from pipeline.parsers.checkpoints.transformer_folder import read_transformer_parser
from pipeline.parsers.dependency.network import BiaffineNetwork
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary


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


def load_transformer_dependency_model(
    folder: Path, *, expected_checksum: str | None = None
) -> tuple[TransformerDependencyModel, str]:
    """Returns the model of a parser folder and its checksum; see `read_transformer_parser`."""
    return read_transformer_parser(
        folder,
        TRANSFORMER_DEPENDENCY,
        _build,
        prefix=lambda model: transformer_prefix(model.network.args.encoder),
        expected_checksum=expected_checksum,
    )


def _build(config: dict[str, Any], transformer: Path) -> TransformerDependencyModel:
    """Returns supar's model: the transformer's weights are read, the others are random."""
    description = TransformerDependencyDescription(**config)
    words = description.vocabulary
    return TransformerDependencyModel(
        network=BiaffineNetwork(**description.network | {"bert": str(transformer)}),
        tokenizer=AutoTokenizer.from_pretrained(transformer),
        subwords=SubwordRules(**description.subwords),
        relations=description.relations,
        vocabulary=None if words is None else DependencyVocabulary(**words),
    )
