"""A training on a mapped folder is the one on the same vectors in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.training_runs import CONFIG, Data, assert_same_training, make_data, run
from treeviews.models.model.model_folder import load_model
from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.pipeline.vectors.vector_folder import write_vectors


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def mapped(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Data:
    """The same corpus and the same numbers in half precision, in a folder that is mapped."""
    vectors = load_word_vectors(data.vectors)
    folder = tmp_path_factory.mktemp("mapped") / "vectors"
    write_vectors(folder, vectors.index.words, vectors.rows(np.arange(1, vectors.num_words)), {})
    return Data(data.folders, folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"vector_rms": 0.35},
        {"unit_words": True, "word_weights": "sif", "views": ("BOW", "DEP")},
        {"word_vectors": "trained", "trained_word_init": "given"},
    ],
)
def test_mapped_vectors_train_to_the_same_bits(
    changes: dict[str, Any], data: Data, mapped: Data, tmp_path: Path
) -> None:
    config = CONFIG.changed(epochs=1, **changes)
    for name, given in (("memory", data), ("mapped", mapped)):
        run(given, tmp_path / name, config)
    assert_same_training(tmp_path / "memory", tmp_path / "mapped")


def test_a_model_looks_frozen_words_up_in_the_file(mapped: Data, tmp_path: Path) -> None:
    run(mapped, tmp_path / "model", CONFIG.changed(epochs=1))
    model = load_model(tmp_path / "model", vectors_path=mapped.vectors)

    table = model.encoder.embeddings[0].vectors

    assert table.dtype == torch.float16
    assert table.data_ptr() == model.vectors.matrix.ctypes.data
    assert model.vectors.is_mapped
