"""A biaffine dependency parser in memory, and as a parser folder on disk."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline.parsers.dependency.network import BiaffineNetwork, NetworkSizes, build_network
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary
from pipeline.parsers.parser_folder import read_parser_folder, write_parser_folder

KIND = "supar-biaffine-dependency"


@dataclass(frozen=True)
class DependencyModel:
    """A network with the vocabularies that its embeddings are indexed by."""

    network: BiaffineNetwork
    sizes: NetworkSizes
    vocabulary: DependencyVocabulary


def save_dependency_model(model: DependencyModel, folder: Path) -> str:
    """Writes a parser folder, the weights rounded to float16, and returns its checksum."""
    vocabulary = model.vocabulary
    config = {
        "sizes": asdict(model.sizes),
        "vocabulary": {
            "max_word_characters": vocabulary.max_word_characters,
            "relations": vocabulary.relations,
            "characters": vocabulary.characters,
            "words": vocabulary.words,
        },
    }
    return write_parser_folder(folder, KIND, config, model.network.state_dict())


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
        folder, KIND, expected_checksum=expected_checksum
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
