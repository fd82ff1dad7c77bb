"""A constituency parser as one value: sizes, vocabularies, weights; to and from disk."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from benepar.parse_chart import ChartParser

from pipeline.parsers.adapters.folder_files import DESCRIPTION_NAME, PLAIN_CONSTITUENCY
from pipeline.parsers.adapters.parser_folder import read_parser_folder, write_parser_folder
from pipeline.parsers.constituency.chart_model import (
    ChartModelConfig,
    ChartVocabularies,
    build_chart_parser,
)


@dataclass(frozen=True, slots=True)
class ConstituencyModel:
    """benepar's chart model with all that is needed to build it again."""

    config: ChartModelConfig
    vocabularies: ChartVocabularies
    network: ChartParser


def new_constituency_model(
    config: ChartModelConfig, vocabularies: ChartVocabularies
) -> ConstituencyModel:
    """Returns a model whose weights are drawn from torch's global generator."""
    return ConstituencyModel(config, vocabularies, build_chart_parser(config, vocabularies))


def save_constituency_model(path: Path, model: ConstituencyModel, *, halved: bool = True) -> str:
    """Writes a model as a parser folder and returns its checksum; see ``write_parser_folder``."""
    description = {"model": asdict(model.config), "vocabularies": asdict(model.vocabularies)}
    return write_parser_folder(
        path, PLAIN_CONSTITUENCY, description, model.network.state_dict(), halved=halved
    )


def load_constituency_model(
    path: Path, *, expected_checksum: str | None = None
) -> tuple[ConstituencyModel, str]:
    """Returns a model from its folder, ready for prediction, and its checksum.

    Leaves torch's global generator as it was.

    Raises:
        ValueError: a file is missing, damaged, or not of this kind; names the file.
    """
    description, tensors, checksum = read_parser_folder(
        path, PLAIN_CONSTITUENCY, expected_checksum=expected_checksum
    )
    try:
        config = ChartModelConfig(**description["model"])
        vocabularies = ChartVocabularies(**description["vocabularies"])
        with torch.random.fork_rng(devices=[]):
            model = new_constituency_model(config, vocabularies)
        model.network.load_state_dict(tensors)
    except (KeyError, TypeError, RuntimeError) as error:
        raise ValueError(
            f"{path / DESCRIPTION_NAME}: does not describe the weights beside it ({error}); "
            f"restore both files together"
        ) from error
    model.network.eval()
    return model, checksum
