"""The pair of views, and the word vectors they share."""

from __future__ import annotations

import torch

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.model.sentence_model import MultiViewEncoder
from treeviews.models.words.word_embedding import WordEmbedding

V, E, H = 9, 5, 4


def make_vectors() -> torch.Tensor:
    vectors = torch.randn(V, E, generator=torch.Generator().manual_seed(1))
    vectors[0] = 0
    return vectors


def make_pair(*views: str) -> MultiViewEncoder:
    torch.manual_seed(0)
    return MultiViewEncoder(config_of(*views), [WordEmbedding(make_vectors(), trained=False)])


def config_of(*views: str) -> TrainingConfig:
    return TrainingConfig(views=views, objective="discriminative", hidden_size=H)


def test_frozen_vectors_are_neither_trained_nor_saved() -> None:
    model = make_pair("LIN", "LIN")

    assert sum(parameter.numel() for parameter in model.parameters()) == 2 * E * H
    assert not any(name.endswith("vectors") for name in model.state_dict())


def test_trained_vectors_move_but_the_unknown_word_stays_zero() -> None:
    torch.manual_seed(0)
    table = torch.randn(V, E)
    table[0] = 0
    embedding = WordEmbedding(table, trained=True)
    before = embedding.vectors.detach().clone()
    optimiser = torch.optim.SparseAdam(embedding.parameters(), lr=0.1)

    embedding(torch.tensor([0, 3])).sum().backward()
    optimiser.step()

    assert not embedding.vectors[0].any()
    assert not torch.equal(embedding.vectors[3], before[3])


def test_frozen_half_precision_is_scaled_in_full_precision() -> None:
    half = make_vectors().half()
    embedding = WordEmbedding(half, scale=0.3, trained=False)

    looked_up = embedding(torch.arange(1, V))

    assert looked_up.dtype == torch.float32
    assert torch.equal(looked_up, half[1:].float() * torch.tensor(0.3))
