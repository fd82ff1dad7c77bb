"""Folders of small models with random weights, for tests of whatever loads one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from models.config.training_presets import preset
from models.model.model_folder import random_model, save_model
from models.words.vector_files import load_word_vectors


def write_model(folder: Path, vectors: Path, *, seed: int = 0, **changes: Any) -> Path:
    """Writes a model of the laptop's preset with some fields changed; returns its folder."""
    words = load_word_vectors(vectors)
    model = random_model(preset("laptop", **{"hidden_size": 6, **changes}), words, seed)
    folder.mkdir(parents=True)
    save_model(folder, model, {"vectors": {"path": str(vectors), "checksum": words.checksum}})
    return folder


def write_multi_view_model(folder: Path, vectors: Path, *, seed: int = 0) -> Path:
    """Writes a model of views SEQ and INV, as the generative objective trains it."""
    return write_model(
        folder, vectors, seed=seed, views=("SEQ",), objective="generative", hidden_size=6
    )
