"""Folders of small models with random weights, for tests of whatever loads one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from models.config.training_config import TrainingConfig
from models.config.training_presets import preset
from models.model.model_folder import save_model
from models.model.sentence_model import SentenceModel, build_model
from models.words.vector_files import load_word_vectors
from models.words.word_vectors import WordVectors


def random_model(config: TrainingConfig, vectors: WordVectors, seed: int) -> SentenceModel:
    """Returns a model with untrained weights, in evaluation mode."""
    return build_model(config, vectors, seed).eval()


def write_model(folder: Path, vectors: Path, *, seed: int = 0, **changes: Any) -> Path:
    """Writes a model of the laptop's preset with some fields changed; returns its folder."""
    words = load_word_vectors(vectors)
    model = random_model(preset("laptop", **{"hidden_size": 6, **changes}), words, seed)
    folder.mkdir(parents=True)
    save_model(
        folder, model, {"vectors": {"path": str(vectors.absolute()), "checksum": words.checksum}}
    )
    return folder


def write_multi_view_model(folder: Path, vectors: Path, *, seed: int = 0) -> Path:
    """Writes a model of views SEQ and INV, as the generative objective trains it."""
    return write_model(
        folder, vectors, seed=seed, views=("SEQ",), objective="generative", hidden_size=6
    )
