"""The folder of a trained model: ``model.safetensors`` beside ``model.json``.

Frozen word vectors are not copied into it, they may be gigabytes; ``model.json`` holds their
checksum and where they lie from the work folder, and loading takes no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from treeviews.models.model.card import made_with
from treeviews.models.model.model_description import (
    FORMAT_VERSION,
    MODEL_FILE,
    REMEDY,
    WEIGHTS_FILE,
    read_model_description,
    read_weights,
    vectors_of_model,
)
from treeviews.models.model.sentence_model import (
    RemovedComponents,
    SentenceModel,
    SentenceViews,
    build_model,
)
from treeviews.pipeline.base.atomic_files import write_by_library
from treeviews.pipeline.base.json_files import write_sealed_json
from treeviews.pipeline.parsers.parser_folder import built_to_fit

_REMOVED = "removed."


def save_model(folder: Path, model: SentenceModel, origin: Mapping[str, Any]) -> None:
    """Writes the weights, then ``model.json``.

    Args:
        origin: what the model was made from; ``origin["vectors"]`` holds ``path`` and
            ``checksum`` of the word vectors as loaded, before scaling.
    """
    weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
    write_by_library(folder / WEIGHTS_FILE, partial(save_file, weights))
    description = {
        "format_version": FORMAT_VERSION,
        "config": model.config.to_dict(),
        "made": made_with(),
        **origin,
        "sizes": {
            "word_size": model.vectors.size,
            "words": model.vectors.num_words,
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
            among what ships. A model that has its own within its folder takes none.

    Raises:
        FileNotFoundError: no model there.
        ValueError: another format, word vectors that are not found or that the model does not
            take, or weights that do not fit.
    """
    description = read_model_description(folder)
    config = description.config
    vectors = vectors_of_model(folder, description, vectors_path)
    tensors = read_weights(folder, load_file)

    def build() -> SentenceModel:
        model = build_model(config, vectors, config.seed)
        removed = [tensors[name] for name in sorted(tensors) if name.startswith(_REMOVED)]
        model.removed.extend(map(RemovedComponents, removed))
        return model

    try:
        model = built_to_fit(build, tensors)
    except ValueError as error:
        raise ValueError(f"{folder / WEIGHTS_FILE}: {error}; {REMEDY}") from error
    return model.eval()
