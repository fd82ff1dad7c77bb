"""A biaffine dependency parser: its sizes, supar's network of them, the parser folder on disk.

Dozat & Manning 2017, "Deep biaffine attention for neural dependency parsing", sections 2.1-2.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from pipeline.base.settings import Count, Settings, ShareBelow1
from pipeline.parsers.adapters.fitting import built_to_fit
from pipeline.parsers.adapters.folder_files import DESCRIPTION_NAME, PLAIN_DEPENDENCY
from pipeline.parsers.adapters.parser_folder import read_parser_folder, write_parser_folder
from pipeline.parsers.dependency.bare_network import BareDependencyNetwork
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary

if TYPE_CHECKING:
    from supar.models.dep import BiaffineDependencyModel as BiaffineNetwork

Network: TypeAlias = Any
"""supar's ``BiaffineDependencyModel``, or `BareDependencyNetwork` for prediction alone."""


class NetworkSizes(Settings):
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


class Dropouts(Settings):
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


class VocabularyEntries(Settings):
    """A `DependencyVocabulary` as a parser's folder holds it."""

    called: ClassVar[str] = "vocabulary entry"

    max_word_characters: Count
    relations: tuple[str, ...]
    characters: tuple[str, ...]
    words: tuple[str, ...]

    def vocabulary(self) -> DependencyVocabulary:
        """Returns the vocabulary.

        Raises:
            ValueError: it lacks a special entry.
        """
        return DependencyVocabulary(
            words=list(self.words),
            characters=list(self.characters),
            relations=list(self.relations),
            max_word_characters=self.max_word_characters,
        )


class _Description(Settings):
    called: ClassVar[str] = "parser description"

    sizes: NetworkSizes
    vocabulary: VocabularyEntries


def build_network(
    sizes: NetworkSizes, vocabulary: DependencyVocabulary, dropouts: Dropouts | None = None
) -> BiaffineNetwork:
    """Returns supar's model with fresh random weights and the given sizes."""
    from supar.models.dep import BiaffineDependencyModel

    dropouts = dropouts or Dropouts()
    return BiaffineDependencyModel(
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

    network: Network
    sizes: NetworkSizes
    vocabulary: DependencyVocabulary


def save_dependency_model(model: DependencyModel, folder: Path, *, halved: bool = True) -> str:
    """Writes a parser folder and returns its checksum.

    Args:
        halved: whether the weights are rounded to float16.
    """
    config = {"sizes": model.sizes.to_dict(), "vocabulary": entries_of(model.vocabulary).to_dict()}
    return write_parser_folder(
        folder, PLAIN_DEPENDENCY, config, model.network.state_dict(), halved=halved
    )


def entries_of(vocabulary: DependencyVocabulary) -> VocabularyEntries:
    """Returns a vocabulary as a parser's folder holds it."""
    return VocabularyEntries(
        max_word_characters=vocabulary.max_word_characters,
        relations=tuple(vocabulary.relations),
        characters=tuple(vocabulary.characters),
        words=tuple(vocabulary.words),
    )


def load_dependency_model(
    folder: Path, *, expected_checksum: str | None = None, bare: bool = False
) -> tuple[DependencyModel, str]:
    """Returns the model of a parser folder, its weights as float32, and its checksum.

    Args:
        folder: one that ``save_dependency_model`` wrote.
        expected_checksum: where given, the folder must have exactly this checksum.
        bare: whether the network is for prediction alone, see `BareDependencyNetwork`.

    Raises:
        ValueError: a file is missing or damaged, holds another kind of parser, or weights and
            description do not fit together; names the file and the remedy.
    """
    config, tensors, checksum = read_parser_folder(
        folder, PLAIN_DEPENDENCY, expected_checksum=expected_checksum
    )
    try:
        description = _Description.from_dict(config)
        sizes, vocabulary = description.sizes, description.vocabulary.vocabulary()
        build = BareDependencyNetwork if bare else build_network
        network = built_to_fit(
            lambda: build(sizes, vocabulary), tensors, num_layers=sizes.lstm_layers
        )
    except ValueError as error:
        raise ValueError(
            f"{folder / DESCRIPTION_NAME}: does not describe the weights beside it ({error}); "
            f"restore both files together or train the parser again"
        ) from error
    return DependencyModel(network.eval(), sizes, vocabulary), checksum
