"""Means of words without torch: the numbers, digests and errors of the model's own module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.encoders import encoder_by
from tests.support.parsed_corpora import write_vectors
from tests.support.repository import REPOSITORY
from tests.support.saved_models import write_model
from treeviews import models
from treeviews.models.config.training_presets import SIF_WORDS
from treeviews.models.config.views import Pooling
from treeviews.models.corpus.sentence_block import SentenceBlock, pool_words
from treeviews.models.encoding.encoder import Encoder, EncoderSettings
from treeviews.models.encoding.torch_model import TorchModel, load_torch_model, random_torch_model
from treeviews.models.encoding.view_models import MeanModel
from treeviews.models.model.model_folder import load_model, save_model
from treeviews.models.model.sentence_model import RemovedComponents
from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.pipeline.base.bundled import BUNDLED_MODELS

TEXTS = ["The cat sees the dog.", "a", "The dog the dog, the dog!", "cat " * 90, "unheard wörds"]
POOLINGS: tuple[Pooling, ...] = ("last", "mean", "max", "min")
BAG: dict[str, Any] = {"views": ("BOW",), "objective": "discriminative"}
CONFIGS: list[dict[str, Any]] = [
    {"vector_rms": None},
    {"vector_rms": 0.7},
    {"vector_rms": None, "word_weights": "sif"},
    {"vector_rms": 0.7, "word_weights": "sif", "unit_words": True},
    {"vector_rms": None, "unit_words": True},
]


@pytest.fixture(params=CONFIGS, ids=str)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    vectors = write_vectors(tmp_path / "vectors")
    return write_model(tmp_path / "model", vectors, **BAG, **request.param)


def without_components(folder: Path, out: Path, count: int) -> Path:
    """Writes the model again, rid of some directions."""
    model = load_model(folder)
    directions = torch.linalg.qr(torch.randn(model.vectors.size, count))[0].T
    model.removed.append(RemovedComponents(directions))
    path = str(folder.parent / "vectors")
    out.mkdir()
    save_model(out, model, {"vectors": {"path": path, "checksum": model.vectors.checksum}})
    return out


def assert_same(mean: Encoder, model: TorchModel) -> None:
    assert isinstance(mean.models[0], MeanModel)
    module = encoder_by(model)
    found, expected = mean.encode_views(TEXTS, POOLINGS), module.encode_views(TEXTS, POOLINGS)
    assert list(found) == list(expected)
    for key, matrix in expected.items():
        np.testing.assert_allclose(found[key], matrix, atol=1e-6)
        assert matrix.any()
    assert mean.digest == module.digest
    assert mean.widths(POOLINGS) == module.widths(POOLINGS)


def test_a_model_of_given_words_is_what_its_module_computes(folder: Path, tmp_path: Path) -> None:
    assert_same(models.load(folder), load_torch_model(folder, EncoderSettings()))
    rid = without_components(folder, tmp_path / "rid", 2)
    assert_same(models.load(rid), load_torch_model(rid, EncoderSettings()))
    plain, without = models.load(folder).encode(TEXTS), models.load(rid).encode(TEXTS)
    assert not np.allclose(plain, without)


@pytest.mark.parametrize("name", ["english", "sif"])
def test_so_are_those_that_ship(name: str) -> None:
    if name == "sif":
        module = random_torch_model(0, EncoderSettings(config=SIF_WORDS))
    else:
        module = load_torch_model(BUNDLED_MODELS[name], EncoderSettings())
    assert_same(models.load(name), module)


def test_sums_have_the_bits_of_torchs_embedding_bag() -> None:
    vectors = load_word_vectors(BUNDLED_MODELS["english"] / "words")
    draw = np.random.default_rng(0)
    lengths = np.concatenate([draw.integers(1, 64, 700), [0, 1, 64]])
    draw.shuffle(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids = (draw.zipf(1.3, offsets[-1]) % len(vectors.words)).astype(np.int32)
    none = np.zeros(len(lengths), dtype=np.int32)
    block = SentenceBlock(ids, offsets, none, none, np.arange(len(lengths)))
    expected = torch.nn.functional.embedding_bag(
        torch.from_numpy(ids.astype(np.int64)),
        torch.from_numpy(vectors.matrix),
        torch.from_numpy(offsets[:-1]),
        mode="mean",
    )
    np.testing.assert_array_equal(pool_words(vectors, block), expected.numpy())


def test_a_new_process_loads_neither_torch_nor_spacy_nor_a_parser_before_it_must() -> None:
    code = (
        "import models, sys\n"
        "for name in ('english', 'bag_of_words', 'sif'):\n"
        "    assert models.load(name).encode(['The cat sat, it rained.']).any()\n"
        "print([m for m in ('torch', 'spacy', 'thinc', 'scipy', 'nltk') if m in sys.modules])\n"
        "assert models.load('english-trees').digest\n"
        "print([m for m in ('supar', 'benepar', 'spacy') if m in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n[]\n"
