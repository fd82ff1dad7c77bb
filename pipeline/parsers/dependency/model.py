"""A biaffine dependency parser: its sizes, supar's network of them, the parser folder on disk.

Dozat & Manning 2017, "Deep biaffine attention for neural dependency parsing", sections 2.1-2.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from supar.models.dep import BiaffineDependencyModel as BiaffineNetwork

from pipeline.base.config_fields import Config, Count, ShareBelow1
from pipeline.parsers.adapters.folder_files import PLAIN_DEPENDENCY
from pipeline.parsers.adapters.parser_folder import read_parser_folder, write_parser_folder
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary

__all__ = ["BiaffineNetwork", "DependencyModel", "Dropouts", "NetworkSizes", "build_network"]


@dataclass(frozen=True)
class NetworkSizes(Config):
    """Widths of the network; with the vocabularies they determine every weight's shape."""

    called: ClassVar[str] = "network size"

    word_embedding: Count = 64
    character_embedding: Count = 50
    character_hidden: Count = 128
    """Both directions together."""
    character_features: Count = 100
    lstm_hidden: Count = 192
    """One direction."""
    lstm_layers: Count = 3
    arc_mlp: Count = 192
    relation_mlp: Count = 64

    def _check_together(self) -> None:
        if self.character_hidden % 2:
            raise ValueError(f"character_hidden must be even, got {self.character_hidden}")


@dataclass(frozen=True)
class Dropouts(Config):
    """Probabilities with which parts of the network are switched off in training."""

    called: ClassVar[str] = "dropout"

    embedding: ShareBelow1 = 0.33
    """Of a token's whole word vector or whole character vector."""
    lstm: ShareBelow1 = 0.33
    """Of a feature at all positions of a sentence, at the input of each layer and at the end."""
    recurrent_weight: ShareBelow1 = 0.1
    """Of a single recurrent weight (DropConnect, Merity et al. 2018).
    Differs from supar, which drops the recurrent state: a fused LSTM has no place for that."""
    mlp: ShareBelow1 = 0.33


def build_network(
    sizes: NetworkSizes, vocabulary: DependencyVocabulary, dropouts: Dropouts | None = None
) -> BiaffineNetwork:
    """Returns supar's model with fresh random weights and the given sizes."""
    dropouts = dropouts or Dropouts()
    return BiaffineNetwork(
        n_words=len(vocabulary.words),
        n_rels=len(vocabulary.relations),
        n_chars=len(vocabulary.characters),
        encoder="lstm",
        feat=["char"],
        n_embed=sizes.word_embedding,
        n_pretrained=sizes.word_embedding,  # equal to n_embed: no pretrained vectors
        n_feat_embed=sizes.character_features,
        n_char_embed=sizes.character_embedding,
        n_char_hidden=sizes.character_hidden,
        char_pad_index=vocabulary.character_pad_id,
        embed_dropout=dropouts.embedding,
        n_lstm_hidden=sizes.lstm_hidden,
        n_lstm_layers=sizes.lstm_layers,
        encoder_dropout=dropouts.lstm,
        n_arc_mlp=sizes.arc_mlp,
        n_rel_mlp=sizes.relation_mlp,
        mlp_dropout=dropouts.mlp,
        pad_index=vocabulary.word_pad_id,
        unk_index=vocabulary.unknown_word_id,
    )


@dataclass(frozen=True)
class DependencyModel:
    """A network with the vocabularies that its embeddings are indexed by."""

    network: BiaffineNetwork
    sizes: NetworkSizes
    vocabulary: DependencyVocabulary


def save_dependency_model(model: DependencyModel, folder: Path, *, halved: bool = True) -> str:
    """Writes a parser folder and returns its checksum.

    Args:
        halved: whether the weights are rounded to float16.
    """
    config = {"sizes": model.sizes.to_dict(), "vocabulary": vocabulary_as_json(model.vocabulary)}
    return write_parser_folder(
        folder, PLAIN_DEPENDENCY, config, model.network.state_dict(), halved=halved
    )


def vocabulary_as_json(vocabulary: DependencyVocabulary) -> dict[str, Any]:
    """Returns what the constructor takes."""
    return {
        "max_word_characters": vocabulary.max_word_characters,
        "relations": vocabulary.relations,
        "characters": vocabulary.characters,
        "words": vocabulary.words,
    }


def load_dependency_model(
    folder: Path, *, expected_checksum: str | None = None
) -> tuple[DependencyModel, str]:
    """Returns the model of a parser folder, its weights as float32, and its checksum.

    Args:
        folder: one that ``save_dependency_model`` wrote.
        expected_checksum: where given, the folder must have exactly this checksum.

    Raises:
        ValueError: a file is missing or damaged, holds another kind of parser, or weights and
            description do not fit together; names the file and the remedy.
    """
    config, tensors, checksum = read_parser_folder(
        folder, PLAIN_DEPENDENCY, expected_checksum=expected_checksum
    )
    try:
        sizes = NetworkSizes(**config["sizes"])
        vocabulary = DependencyVocabulary(**config["vocabulary"])
        network = build_network(sizes, vocabulary)
        network.load_state_dict(tensors)
    except (TypeError, KeyError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{folder}: weights and description do not fit together ({error}); restore both "
            f"files together or train the parser again"
        ) from error
    return DependencyModel(network.eval(), sizes, vocabulary), checksum
