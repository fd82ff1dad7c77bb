"""What a configuration can choose: presets, precision, dropout, embeddings, targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.parsed_corpora import block_of
from tests.support.training_runs import (
    CONFIG,
    SETTINGS,
    Data,
    assert_same_training,
    make_data,
    run,
    weights,
)
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import preset
from treeviews.models.model.model_folder import load_model
from treeviews.models.model.sentence_model import SentenceModel, build_model
from treeviews.models.words.word_vectors import WordVectors, load_word_vectors
from treeviews.pipeline.vectors.vector_folder import write_vectors

SMALL: dict[str, Any] = {"hidden_size": 8, "batch_size": 32, "vector_rms": 0.35}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def vectors(data: Data) -> WordVectors:
    return load_word_vectors(data.vectors)


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        preset("quickthoughts", **SMALL, word_vectors="trained"),
        CONFIG.changed(precision="bfloat16"),
        CONFIG.changed(dep_cell="attentive"),
        CONFIG.changed(word_vectors="trained", embeddings="separate", weight_decay=1e-4),
    ],
    ids=lambda config: f"{config.views}-{config.precision}-{config.targets}-{config.word_dropout}",
)
def test_every_choice_learns_and_is_restored(
    data: Data, tmp_path: Path, config: TrainingConfig
) -> None:
    summary = run(data, tmp_path, config.changed(epochs=6, learning_rate=5e-3))

    model = load_model(tmp_path)
    assert summary["final_loss"] < summary["first_loss"] - 0.1
    assert all(torch.equal(v, weights(tmp_path)[k]) for k, v in model.state_dict().items())
    assert all(p.dtype == torch.float32 for p in model.parameters())


@pytest.mark.slow
def test_a_training_may_change_how_many_sentences_it_encodes_at_once(
    data: Data, tmp_path: Path
) -> None:
    run(data, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path / "pieces", settings=SETTINGS.changed(sentences_at_once=5), kill_at=9)
    run(data, tmp_path / "pieces", settings=SETTINGS.changed(sentences_at_once=13))

    whole, pieces = weights(tmp_path / "whole"), weights(tmp_path / "pieces")
    for name, value in whole.items():
        torch.testing.assert_close(pieces[name], value, rtol=1e-3, atol=1e-4, msg=name)


def test_separate_embeddings_are_two_and_drawn_apart(vectors: WordVectors) -> None:
    trained = CONFIG.changed(word_vectors="trained", trained_word_init="uniform")
    shared = build_model(trained, vectors, 0).encoder.embeddings
    separate = build_model(trained.changed(embeddings="separate"), vectors, 0).encoder.embeddings

    assert len(shared) == 1
    assert len(separate) == 2
    assert not torch.equal(separate[0].vectors, separate[1].vectors)
    assert 0.09 < separate[0].vectors.abs().max() <= 0.1
    assert not separate[1].vectors[0].any()


def test_only_the_first_words_are_trained_if_told(data: Data, tmp_path: Path) -> None:
    all_words = load_word_vectors(data.vectors).words
    config = CONFIG.changed(word_vectors="trained", trained_words=5, epochs=1)
    summary = run(data, tmp_path, config)

    model = load_model(tmp_path)

    assert model.vectors.words == all_words[:6]
    assert model.encoder.embeddings[0].vectors.shape == (6, config.trained_word_size)
    assert summary["coverage"]["unknown"] > 0
    assert (
        summary["num_parameters"]
        < run(data, tmp_path / "all", config.changed(trained_words=None))["num_parameters"]
    )


def views_of(model: SentenceModel) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    first, second = model.views(model.training_batch(block_of([3, 3], [3, 4, 3] * 2)))
    return first, second


def test_dropout_is_drawn_for_each_token_and_view_in_training_alone(vectors: WordVectors) -> None:
    config = CONFIG.changed(views=("LIN", "LIN"), word_dropout=0.5)
    model = build_model(config, vectors, 0)
    model.encoder.encoders[1].load_state_dict(model.encoder.encoders[0].state_dict())

    trained, whole = views_of(model.train()), views_of(model.eval())

    assert not torch.equal(trained[0][0], trained[0][1])  # two sentences of the same words
    assert not torch.equal(trained[0], trained[1])  # the same encoder on other draws
    assert torch.equal(whole[0][0], whole[0][1])
    assert torch.equal(whole[0], whole[1])


@pytest.mark.parametrize("views", [("DEP", "CONST"), ("SEQ", "LIN")])
def test_bfloat16_is_close_to_float32_and_its_result_is_float32(
    vectors: WordVectors, views: tuple[str, str]
) -> None:
    exact = build_model(CONFIG.changed(views=views), vectors, 0)
    rounded = build_model(CONFIG.changed(views=views, precision="bfloat16"), vectors, 0)

    for one, other in zip(views_of(exact), views_of(rounded), strict=True):
        assert other.dtype == torch.float32
        assert not torch.equal(one, other)
        torch.testing.assert_close(one, other, rtol=0.1, atol=0.02)


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
