"""How answers are learnt and chosen; readable where torch is not loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from models.config_fields import check_choices, checked_fields

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
class ProtocolConfig:
    """What SentEval leaves to its user; the defaults are those its published results used."""

    classifier: Classifier = "logistic_regression"
    num_folds: int = 10
    """Outer and inner folds (SentEval's README: kfold 10; its quick setting is 5)."""
    seed: int = 1111
    """Of the folds and of the compatibility classifier."""
    batch_items: int = 128
    """Items represented at once, which matters where principal components are removed per batch
    of representations (SentEval's default batch size)."""
    tolerance: float = 1e-6
    """Share of its objective by which a logistic regression may lie above the minimum."""
    max_steps: int = 500
    grid_scale: float = 1.0
    """Factor on every C of SentEval's grids. These suit raw features; of views of length 1 the
    largest C of them is small, and searches end at the grid's edge."""
    standardise: bool | None = None
    """Whether features are brought to mean 0 and deviation 1 on the items that a logistic
    regression of classes trains on; None leaves it to the data: published ones are taken raw.
    Differs from SentEval: one grid then fits embeddings of any scale, and the rows of a table
    differ in what they encode, not in how large they are."""
    penalties: tuple[float, ...] | None = None
    """λ, the penalty a training item, in the place of SentEval's grids of C, whose penalty stands
    beside a sum over items: with λ one grid serves tasks of any size. () asks for SentEval's grids,
    None leaves it to the data."""
    compatibility_loss: BatchLoss = "sum"
    """Whether the compatibility classifier sums the losses of a batch, as SentEval asks PyTorch to
    and its published results have it, or averages them, as it does with a PyTorch of today."""

    def __post_init__(self) -> None:
        """Refuses settings out of range.

        Raises:
            ValueError: names the field and what it must be.
        """
        check_choices(self)
        if self.num_folds < 2:
            raise ValueError(f"num_folds must be at least 2, got {self.num_folds}")
        for name in ("tolerance", "grid_scale"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        for name in ("batch_items", "max_steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if min(self.penalties or (1.0,)) <= 0:
            raise ValueError(f"penalties must be positive numbers, got {self.penalties}")
        if self.classifier == "compatibility" and (self.standardise or self.penalties):
            raise ValueError("standardise and penalties are of the classifier logistic_regression")
        if self.grid_scale != 1.0 and self.penalties:
            raise ValueError("grid_scale is of SentEval's grids, which penalties replace")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ProtocolConfig:
        """Returns the configuration of plain values, defaults where a field is missing.

        Raises:
            ValueError: an unknown field, or a value of another type or out of range.
        """
        return cls(**checked_fields(cls, values, "protocol"))

    def on_data(self, declared: Mapping[str, Any]) -> ProtocolConfig:
        """Returns the configuration on data that declare fields of it.

        A field that is asked for stays, and so do SentEval's grids where they are scaled, and its
        own classifier.

        Raises:
            ValueError: what the data declare is no field, or out of range.
        """
        if self.classifier == "compatibility":
            return self
        kept = {name for name in declared if getattr(self, name, None) is not None}
        if self.grid_scale != 1.0:
            kept.add("penalties")
        own = {name: value for name, value in declared.items() if name not in kept}
        return replace(self, **checked_fields(ProtocolConfig, own, "protocol"))

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values.

        Fields that came later are left out at their defaults, so that earlier results keep their
        meaning.
        """
        later = {"grid_scale": 1.0, "standardise": None, "penalties": None}
        fields = {k: v for k, v in asdict(self).items() if k not in later or v != later[k]}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in fields.items()}
