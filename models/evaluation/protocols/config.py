"""How answers are learnt and chosen; readable where torch is not loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pipeline.config_fields import Config, Count, Positive, at_least

PROTOCOL_VERSION = 1
"""Raised when the same representations and configuration would give other predictions."""

BatchLoss = Literal["sum", "mean"]
Classifier = Literal["logistic_regression", "compatibility"]
"""``logistic_regression``: convex, to a tolerance; ``compatibility``: SentEval's own, trained by
Adam with early stopping."""

NESTED_GRID = tuple(2.0**t for t in range(-2, 4))
"""C of nested folds (SentEval, validation.py, InnerKFoldClassifier)."""
FOLDS_GRID = tuple(2.0**t for t in range(-1, 6))
"""C of folds of train (validation.py, KFoldClassifier)."""
SPLIT_GRID = tuple(2.0**t for t in range(-2, 4))
"""C of a given dev split (validation.py, SplitClassifier)."""
COMPATIBILITY_GRID = tuple(10.0**t for t in range(-5, -1))
"""Weight decay of SentEval's own classifier, in all three."""


@dataclass(frozen=True, slots=True)
class ProtocolConfig(Config):
    """What SentEval leaves to its user; the defaults are those its published results used."""

    called: ClassVar[str] = "protocol setting"

    classifier: Classifier = "logistic_regression"
    num_folds: Annotated[int, at_least(2)] = 10
    """Outer and inner folds (SentEval's README: kfold 10; its quick setting is 5)."""
    seed: int = 1111
    """Of the folds and of the compatibility classifier."""
    batch_items: Count = 128
    """Items represented at once, which matters where principal components are removed per batch
    of representations (SentEval's default batch size)."""
    tolerance: Positive = 1e-6
    """Share of its objective by which a logistic regression may lie above the minimum."""
    max_steps: Count = 500
    grid_scale: Positive = 1.0
    """Factor on every C of SentEval's grids. These suit raw features; of views of length 1 the
    largest C of them is small, and searches end at the grid's edge."""
    compatibility_loss: BatchLoss = "sum"
    """Whether the compatibility classifier sums the losses of a batch, as SentEval asks PyTorch to
    and its published results have it, or averages them, as it does with a PyTorch of today."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values.

        SentEval's own grid is left out, so that results from before it could be scaled keep their
        meaning.
        """
        fields = Config.to_dict(self)
        if self.grid_scale == 1.0:
            del fields["grid_scale"]
        return fields
