"""The views of a sentence, each declared once.

What a training may ask for, the columns that are read for it, its order of computation, its encoder
and its line in a model's card come from `VIEWS`. Loads no torch: encoders are named, and imported
where one is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.base.refusal import shortened

Reads = Literal["words", "sequence", "dependencies", "constituents"]
"""What an encoder follows: nothing but the words, their sequence, or the trees of a parse stage."""
Pooling = Literal["last", "max", "mean", "min"]
"""How a sentence's states become one vector: the one an encoder gives, or one over all of them."""

COLUMNS = {"dependencies": ("heads",), "constituents": ("binary_left", "binary_right")}
"""Parse stage -> the columns that encoders read, see ``pipeline.shards.schema``."""
_WEIGHTS = ("hidden_size", "init")


@dataclass(frozen=True, slots=True)
class View:
    """What is known of a view without its encoder."""

    about: str
    """One line of a model's card; ``{seq_cell}`` stands for that setting."""
    encoder: str
    """``module:name`` of what makes its `SentenceEncoder`, within `models.encoders` if the module
    begins with a point. It is called with ``word_size`` and the `settings`."""
    reads: Reads = "words"
    settings: tuple[str, ...] = _WEIGHTS
    """Fields of `TrainingConfig`. An encoder without any has no weights, and its vectors are as
    wide as the words'."""
    is_mean: bool = False
    """Whether its vector is the mean of its states, each of one word alone: then a table of words
    can be exported in its stead, and pooling has no last state beside the mean."""


VIEWS: dict[str, View] = {
    "SEQ": View(
        about="the words in their order ({seq_cell})",
        encoder=".recurrent_encoders:recurrent_encoder",
        reads="sequence",
        settings=(*_WEIGHTS, "bidirectional", "seq_cell"),
    ),
    "DEP": View(
        about="the dependency tree (Tree-LSTM)",
        encoder=".child_sum_tree_lstm:ChildSumTreeLSTM",
        reads="dependencies",
        settings=(*_WEIGHTS, "dep_cell"),
    ),
    "CONST": View(
        about="the constituency tree (Tree-LSTM)",
        encoder=".nary_tree_lstm:NaryTreeLSTM",
        reads="constituents",
    ),
    "LIN": View(
        about="the mean of the words through a linear map",
        encoder=".word_averages:LinearAverage",
        is_mean=True,
    ),
    "BOW": View(
        about="the mean of the words",
        encoder=".word_averages:BagOfWords",
        settings=(),
        is_mean=True,
    ),
}
"""Those that a training can ask for."""

INVERSE = "INV"
"""The inverse of a trained decoder: a view of the finished model that no training asks for."""
_INVERSE_VIEW = View("the inverse of the decoder, averaged over the words", "", is_mean=True)


def checked_views(views: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the views of a training; a ValueError says which it may have."""
    if not 1 <= len(views) <= 2 or any(view not in VIEWS for view in views):
        meant = did_you_mean(*(set(views) - set(VIEWS)), known=VIEWS)
        given = shortened(", ".join(views))
        raise ValueError(f"views must be one or two of {', '.join(VIEWS)}, not {given}{meant}")
    return views


def view_called(name: str) -> View | None:
    """Returns what is known of a view of a finished model; None of what is no view."""
    return _INVERSE_VIEW if name == INVERSE else VIEWS.get(name)


def stage_of(name: str) -> str | None:
    """Returns the parse stage that a view reads, if it is a view and reads one."""
    view = view_called(name)
    return view.reads if view is not None and view.reads in COLUMNS else None


def is_mean(name: str) -> bool:
    """Returns whether a view's vector is the mean of its states, see `View`."""
    view = view_called(name)
    return view is not None and view.is_mean


def needed_stages(views: Sequence[str]) -> list[str]:
    """Returns the parse stages that views read, each once and in a fixed order."""
    return [stage for stage in COLUMNS if stage in map(stage_of, views)]
