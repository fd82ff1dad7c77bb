"""Models drawn by a seed, trained ones read from their folders, and what is refused there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from models.config.training_config import TrainingConfig
from models.config.training_presets import preset
from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus, Selection
from models.corpus.sentence_block import pooled_words
from models.model.model_folder import load_model
from models.model.sentence_model import SentenceModel
from models.training.job import RunSettings, TrainingJob
from models.training.learner import held_out_accuracy
from models.training.train_views import train
from models.words.word_vectors import WordVectors, load_word_vectors
from tests.support.parsed_corpora import stories, write_corpus, write_vectors
from tests.support.saved_models import random_model

CONFIG = preset("laptop", hidden_size=6, epochs=2, batch_size=32)
SETTINGS = RunSettings(gemm="default")


@dataclass(frozen=True)
class Data:
    folders: CorpusFolders
    vectors_path: Path

    @property
    def vectors(self) -> WordVectors:
        return load_word_vectors(self.vectors_path)

    def corpus(self, selection: Selection | None = None) -> ParsedCorpus:
        return ParsedCorpus(self.folders, self.vectors, views=CONFIG.views, selection=selection)

    def train(self, config: TrainingConfig, out: Path) -> dict[str, Any]:
        job = TrainingJob(
            config=config,
            corpus=self.folders,
            vectors=self.vectors_path,
            out=out,
            settings=SETTINGS,
        )
        return train(job)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    folder = tmp_path_factory.mktemp("data")
    folders = write_corpus(
        folder / "corpus", stories(20), rows_per_shard=50, without_constituents=[5, 77]
    )
    return Data(folders, write_vectors(folder / "vectors"))


@pytest.fixture(scope="module")
def model(data: Data) -> SentenceModel:
    return random_model(CONFIG, data.vectors, seed=3)


def test_the_bag_of_words_is_the_mean_with_unknown_words_as_zero(tmp_path: Path) -> None:
    vectors = WordVectors.from_rows(["a", "b"], np.array([[2, 0], [0, 4]], dtype=np.float32))
    folders = write_corpus(tmp_path, {"one": [["a", "b"], ["b", "?", "?", "a"], ["?"]]})

    means = pooled_words(vectors, ParsedCorpus(folders, vectors, views=("BOW",)).read(0))

    assert means.tolist() == [[1, 2], [0.5, 1], [0, 0]]


def test_random_weights_are_a_function_of_the_seed(data: Data) -> None:
    state = torch.get_rng_state()

    first, again, other = (random_model(CONFIG, data.vectors, seed) for seed in (0, 0, 1))

    def flat(model: SentenceModel) -> torch.Tensor:
        return torch.nn.utils.parameters_to_vector(model.parameters())

    assert torch.equal(flat(first), flat(again))
    assert not torch.equal(flat(first), flat(other))
    assert torch.equal(state, torch.get_rng_state())


def test_a_trained_model_comes_back_from_its_folder(data: Data, tmp_path: Path) -> None:
    summary = data.train(CONFIG, tmp_path)

    model = load_model(tmp_path)

    assert model.config == CONFIG
    assert not model.training
    selection = Selection("held_out", max_tokens=CONFIG.max_tokens)
    measured = held_out_accuracy(model, data.corpus(selection))
    assert measured.accuracy == pytest.approx(summary["held_out"]["final"]["accuracy"], abs=1e-6)
    assert measured.loss == pytest.approx(summary["held_out"]["final"]["loss"], abs=1e-5)
    untrained = random_model(CONFIG, data.vectors, CONFIG.seed)
    start = held_out_accuracy(untrained, data.corpus(selection))
    assert start.loss == pytest.approx(summary["held_out"]["untrained"]["loss"], abs=1e-5)


def test_other_word_vectors_than_the_trained_ones_are_refused(data: Data, tmp_path: Path) -> None:
    data.train(CONFIG.changed(epochs=1), tmp_path / "model")
    other = write_vectors(tmp_path / "other", size=7)

    with pytest.raises(ValueError, match=r"other: other word vectors .*; give vectors=PATH"):
        load_model(tmp_path / "model", vectors_path=other)


def test_broken_weights_are_named(data: Data, tmp_path: Path) -> None:
    data.train(CONFIG.changed(epochs=1), tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"broken")

    with pytest.raises(ValueError, match=r"model\.safetensors: damaged or of another run"):
        load_model(tmp_path)
