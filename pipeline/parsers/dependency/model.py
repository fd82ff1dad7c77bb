"""A biaffine dependency parser in memory, and as a parser folder on disk."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.parsers.adapters.folder_files import PLAIN_DEPENDENCY
from pipeline.parsers.adapters.parser_folder import read_parser_folder, write_parser_folder
from pipeline.parsers.dependency.network import BiaffineNetwork, NetworkSizes, build_network
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary


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
    config = {"sizes": asdict(model.sizes), "vocabulary": vocabulary_as_json(model.vocabulary)}
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
