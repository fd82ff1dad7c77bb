"""From a view's name to its encoder and the columns it reads."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from torch import nn

from models.encoders.bag_of_words import BagOfWords
from models.encoders.child_sum import ChildSumTreeLSTM
from models.encoders.gru import GRU
from models.encoders.initialisation import Init
from models.encoders.nary import NaryTreeLSTM

_ENCODERS: dict[str, Callable[..., nn.Module]] = {
    "SEQ": GRU,
    "DEP": ChildSumTreeLSTM,
    "CONST": NaryTreeLSTM,
    "BOW": BagOfWords,
}

VIEWS = tuple(_ENCODERS)
"""Names of the views: Simoulin & Crabbé's three, and the bag of words as their baseline."""

TREE_COLUMNS = MappingProxyType(
    {"SEQ": (), "DEP": ("heads",), "CONST": ("binary_left", "binary_right"), "BOW": ()}
)
"""For each view the arguments of `SentenceBatch.from_arrays` its encoder needs beside the tokens;
also the names of the shards' columns."""


def build_encoder(
    view: str, *, word_size: int, hidden_size: int, init: Init = "xavier"
) -> nn.Module:
    """Returns a new `SentenceEncoder` for the view.

    Args:
        view: one of `VIEWS`.
        word_size: E, the width of a word vector.
        hidden_size: H, the width of a sentence's vector.
        init: how the weights start.

    Raises:
        ValueError: no such view or init.
    """
    if view not in _ENCODERS:
        raise ValueError(f"unknown view {view!r}; known: {', '.join(VIEWS)}")
    return _ENCODERS[view](word_size=word_size, hidden_size=hidden_size, init=init)
