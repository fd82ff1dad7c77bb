"""Sentence encoders, one view a file; BOW and LIN, which read no order, share one.

In: a `SentenceBatch` and the vectors of its word types, [T, E]. Out: one vector a sentence, [B, H];
for pooling in evaluation all states of the sentences (`base.SentenceStates`). A file holds a view's
parameters and equations. `order/` says in what order its states are computed, `level_loops/` walks
that order, with its gradient, and `kernels/` does a step of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from treeviews.models.config.training_config import DepCell, Init, SeqCell
from treeviews.models.config.views import VIEWS
from treeviews.models.encoders.base import SentenceEncoder
from treeviews.models.encoders.child_sum import ChildSumTreeLSTM
from treeviews.models.encoders.gru import GRU
from treeviews.models.encoders.lstm import LSTM
from treeviews.models.encoders.nary import NaryTreeLSTM
from treeviews.models.encoders.read_alike import ReadAlike
from treeviews.models.encoders.word_averages import BagOfWords, LinearAverage

__all__ = [
    "GRU",
    "LSTM",
    "BagOfWords",
    "ChildSumTreeLSTM",
    "LinearAverage",
    "NaryTreeLSTM",
    "ReadAlike",
    "SentenceEncoder",
    "build_encoder",
]

_ENCODERS: dict[str, Callable[..., nn.Module]] = {
    "DEP": ChildSumTreeLSTM,
    "CONST": NaryTreeLSTM,
    "LIN": LinearAverage,
}
_SEQUENCES: dict[SeqCell, type[GRU | LSTM]] = {"gru": GRU, "lstm": LSTM}


def build_encoder(
    view: str,
    *,
    word_size: int,
    hidden_size: int,
    init: Init = "xavier",
    bidirectional: bool = False,
    seq_cell: SeqCell = "gru",
    dep_cell: DepCell = "child_sum",
    read_rms: float | None = None,
) -> nn.Module:
    """Returns a new `SentenceEncoder` for the view.

    Args:
        view: one of `models.config.views.VIEWS`.
        word_size: E, the width of a word vector.
        hidden_size: H, the width of a sentence's vector, except of BOW, which is E.
        init: how the weights start.
        bidirectional: whether SEQ reads in both directions, each half as wide.
        seq_cell: what SEQ reads with.
        dep_cell: how DEP sums a node's children.
        read_rms: root mean square of a component at which all views but BOW read every word; None:
            as it comes.

    Raises:
        ValueError: no such view or init.
    """
    if view == "BOW":
        return BagOfWords(word_size=word_size)
    if view != "SEQ" and view not in _ENCODERS:
        raise ValueError(f"unknown view {view!r}; known: {', '.join(VIEWS)}")
    options: dict[str, Any] = {"hidden_size": hidden_size, "init": init}
    if view == "SEQ":
        options["bidirectional"] = bidirectional
    elif view == "DEP":
        options["dep_cell"] = dep_cell
    made = _SEQUENCES[seq_cell] if view == "SEQ" else _ENCODERS[view]
    encoder = made(word_size=word_size, **options)
    return encoder if read_rms is None else ReadAlike(encoder, rms=read_rms)
