"""The folder of a trained model: ``model.safetensors`` beside ``model.json``.

Frozen word vectors are not copied into it, they may be gigabytes; ``model.json`` holds their path
and checksum, and loading takes no others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from models.model.model_description import (
    FORMAT_VERSION,
    MODEL_FILE,
    REMEDY,
    WEIGHTS_FILE,
    load_recorded_vectors,
    read_model_config,
    read_model_description,
)
from models.model.sentence_model import SentenceModel, SentenceViews, build_model
from pipeline.base.sealed import check_file, write_sealed_json


def save_model(folder: Path, model: SentenceModel, origin: Mapping[str, Any]) -> None:
    """Writes the weights, then ``model.json``.

    Args:
        origin: what the model was made from; ``origin["vectors"]`` holds ``path`` and
            ``checksum`` of the word vectors as loaded, before scaling.
    """
    weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
    unfinished = folder / f"{WEIGHTS_FILE}.unfinished"
    save_file(weights, unfinished)
    with unfinished.open("rb") as stream:
        os.fsync(stream.fileno())
    unfinished.replace(folder / WEIGHTS_FILE)
    description = {
        "format_version": FORMAT_VERSION,
        "config": model.config.to_dict(),
        **origin,
        "sizes": {
            "word_size": model.vectors.size,
            "words": len(model.vectors.words),
            "embedding_size": sum(SentenceViews(model).widths),
            "parameters": num_parameters(model),
        },
    }
    write_sealed_json(folder / MODEL_FILE, description, [folder / WEIGHTS_FILE])


def num_parameters(model: SentenceModel) -> int:
    """Returns the number of trained values; frozen word vectors do not count."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def load_model(folder: Path, *, vectors_path: Path | None = None) -> SentenceModel:
    """Returns a trained model in evaluation mode.

    Args:
        vectors_path: where the word vectors lie now; by default where they lay in training, or
            among what ships.

    Raises:
        FileNotFoundError: no model there.
        ValueError: another format, word vectors that are not found, or weights that do not fit.
    """
    config = read_model_config(folder)
    recorded = read_model_description(folder)["vectors"]
    vectors = load_recorded_vectors(recorded["checksum"], Path(recorded["path"]), vectors_path)
    model = build_model(config, vectors, config.seed)
    load_weights(folder, model)
    return model.eval()


def load_weights(folder: Path, model: SentenceModel) -> None:
    """Puts the weights of a model's folder into a model of the same configuration.

    Raises:
        ValueError: they are damaged, cannot be read, or do not fit.
    """
    try:
        check_file(folder / WEIGHTS_FILE, read_model_description(folder), REMEDY)
        model.load_state_dict(load_file(folder / WEIGHTS_FILE))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise ValueError(f"{folder / WEIGHTS_FILE}: cannot be loaded: {error}") from error
