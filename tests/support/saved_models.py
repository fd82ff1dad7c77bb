"""Folders of small models with random weights, for tests of whatever loads one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import preset
from treeviews.models.config.views import needed_stages
from treeviews.models.corpus.parsed_corpus import ParsedCorpus
from treeviews.models.encoding.encoder_names import placed
from treeviews.models.model.model_folder import save_model
from treeviews.models.model.sentence_model import (
    SentenceModel,
    SentenceViews,
    batch_of,
    build_model,
)
from treeviews.models.words.word_vectors import WordVectors, load_word_vectors
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS
from treeviews.pipeline.parsers.parser_files import checksum_of_parser_folder


def random_model(config: TrainingConfig, vectors: WordVectors, seed: int) -> SentenceModel:
    """Returns a model with untrained weights, in evaluation mode."""
    return build_model(config, vectors, seed).eval()


@torch.no_grad()
def encoded_one_by_one(
    model: SentenceModel, corpus: ParsedCorpus
) -> tuple[list[int], dict[str, npt.NDArray[np.float32]]]:
    """Returns the rows of a parsed corpus, and their vectors by view, a sentence at a time."""
    views = SentenceViews(model).eval()
    rows: list[int] = []
    found: list[list[torch.Tensor]] = []
    for block in corpus.blocks():
        rows += block.rows.tolist()
        for place in range(len(block)):
            found.append(views(batch_of(block.slice(place, place + 1), model.config)))
    matrices = [torch.cat(vectors).numpy() for vectors in zip(*found, strict=True)]
    return rows, dict(zip(placed(views.views), matrices, strict=True))


def write_model(
    folder: Path,
    vectors: Path,
    *,
    seed: int = 0,
    parsers: Mapping[str, Path] = BUNDLED_PARSERS,
    **changes: Any,
) -> Path:
    """Writes a model of the laptop's preset with some fields changed; returns its folder."""
    words = load_word_vectors(vectors)
    model = random_model(preset("laptop", **{"hidden_size": 6, **changes}), words, seed)
    folder.mkdir(parents=True)
    recorded = {
        stage: {"name": stage, "checksum": checksum_of_parser_folder(parsers[stage])}
        for stage in needed_stages(model.config.views)
    }
    place = {"path": str(vectors.absolute()), "checksum": words.checksum}
    save_model(folder, model, {"vectors": place, "parsers": recorded})
    return folder


def write_multi_view_model(folder: Path, vectors: Path, *, seed: int = 0) -> Path:
    """Writes a model of views SEQ and INV, as the generative objective trains it."""
    return write_model(
        folder, vectors, seed=seed, views=("SEQ",), objective="generative", hidden_size=6
    )
