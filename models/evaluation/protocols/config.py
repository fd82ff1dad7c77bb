"""How answers are learnt and chosen; readable where torch is not loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pipeline.base.settings import POSITIVE, Count, Positive, Settings, at_least

PROTOCOL_VERSION = 2
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
LEFT_TO_DATA = ("standardise", "penalties")
"""Fields that data may declare, where nothing else is asked for."""


class ProtocolConfig(Settings):
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
    standardise: bool | None = None
    """Whether features are brought to mean 0 and deviation 1 on the items that a logistic
    regression of classes trains on; None leaves it to the data: published ones are taken raw.
    Differs from SentEval: one grid then fits embeddings of any scale, and the rows of a table
    differ in what they encode, not in how large they are."""
    penalties: Annotated[tuple[float, ...] | None, POSITIVE] = None
    """λ, the penalty a training item, in the place of SentEval's grids of C, whose penalty stands
    beside a sum over items: with λ one grid serves tasks of any size. () asks for SentEval's grids,
    None leaves it to the data."""
    compatibility_loss: BatchLoss = "sum"
    """Whether the compatibility classifier sums the losses of a batch, as SentEval asks PyTorch to
    and its published results have it, or averages them, as it does with a PyTorch of today."""

    def _check_together(self) -> None:
        """Refuses settings that belong to different classifiers or grids.

        Raises:
            ValueError: names the fields.
        """
        if self.classifier == "compatibility" and (self.standardise or self.penalties):
            raise ValueError("standardise and penalties are of the classifier logistic_regression")
        if self.classifier != "compatibility" and self.compatibility_loss != "sum":
            raise ValueError(
                f"compatibility_loss {self.compatibility_loss} is of the classifier compatibility, "
                f"not of {self.classifier}; ask for that classifier or leave it out"
            )
        if self.grid_scale != 1.0 and self.penalties:
            raise ValueError("grid_scale is of SentEval's grids, which penalties replace")

    def on_data(self, declared: Mapping[str, Any]) -> ProtocolConfig:
        """Returns the configuration on data that declare fields of it.

        Data declare ``standardise`` and ``penalties``, whose None leaves them to the data. A field
        that is asked for stays, and so do SentEval's grids where they are scaled, and its own
        classifier.

        Raises:
            ValueError: the data declare another name, or a value out of range.
        """
        if unknown := sorted(set(declared) - set(LEFT_TO_DATA)):
            raise ValueError(
                f"unknown protocol settings {unknown} of data; they may declare "
                f"{' and '.join(LEFT_TO_DATA)}"
            )
        if self.classifier == "compatibility":
            return self
        kept = {name for name in declared if getattr(self, name) is not None}
        if self.grid_scale != 1.0:
            kept.add("penalties")
        own = {name: value for name, value in declared.items() if name not in kept}
        return self.changed(**own)

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values.

        Fields that came later are left out at their defaults, so that earlier results keep their
        meaning.
        """
        later = {"grid_scale": 1.0, "standardise": None, "penalties": None}
        fields = Settings.to_dict(self)
        return {k: v for k, v in fields.items() if k not in later or v != later[k]}
