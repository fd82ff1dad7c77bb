"""Tiny dependency parsers with random weights, over the words of the hand-written sentences."""

from __future__ import annotations

from typing import Any

import torch

from tests.support.dependency_examples import treebank
from treeviews.pipeline.parsers.dependency_model import (
    DependencyDescription,
    DependencyModel,
    DependencyVocabulary,
    NetworkSizes,
    build_network,
)
from treeviews.pipeline.parsers.parser_folder import ParserModel

SIZES = NetworkSizes(
    word_embedding=6,
    character_embedding=6,
    character_hidden=8,
    character_features=6,
    lstm_hidden=8,
    lstm_layers=1,
    arc_mlp=7,
    relation_mlp=5,
)


def random_model(
    seed: int, *, sizes: NetworkSizes = SIZES, min_word_frequency: int = 1
) -> DependencyModel:
    """Weights so large that trees are of many shapes."""
    vocabulary = DependencyVocabulary.build(treebank(), min_word_frequency=min_word_frequency)
    torch.manual_seed(seed)
    description = DependencyDescription(sizes=sizes, vocabulary=vocabulary)
    network: Any = build_network(description)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return ParserModel(network.eval(), description)
