"""Relatedness learnt as a distribution over five grades (SICK-R, STS-B).

Train decides the model, Pearson's r on dev the regulariser or the time to stop, test is answered
once. By default the model is that of Tai, Socher & Manning (2015, section 4.2) with fixed
sentence vectors: softmax of a linear map of [|u − v|, u ∗ v], and

    mean over pairs of KL(target ‖ softmax(W x + b))  +  λ/2 · ‖W‖²,

which is convex. As compatibility there is SentEval's: squared error in place of the divergence, no
regulariser, Adam stopped early.

Legend: N training, N' dev and n test pairs, D features.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models.evaluation.classifiers.adam_relatedness import (
    AdamRelatednessConfig,
    fit_adam_relatedness,
)
from models.evaluation.classifiers.checks import check_finite, check_items
from models.evaluation.classifiers.grades import NUM_GRADES, expected_scores, grade_targets
from models.evaluation.classifiers.logistic_regression import fit_logistic_regression
from models.evaluation.protocols.config import Classifier, ProtocolConfig
from models.evaluation.statistics.correlation import pearson
from pipeline.config_fields import POSITIVE, Config, Count, Positive

FloatArray = npt.NDArray[np.float64]

REGULARISERS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""λ. Tai et al. use 1e-4 (section 5.3). On SICK's dev pairs the mean of the bundled vectors (200
features) does best at 1e-7 and below, its projection to 1,200 (2,400 features) at 1e-5."""


@dataclass(frozen=True, slots=True)
class RelatednessConfig(Config):
    """How relatedness is learnt."""

    called: ClassVar[str] = "relatedness setting"

    classifier: Classifier = "logistic_regression"
    regularisers: Annotated[tuple[float, ...], POSITIVE] = REGULARISERS
    tolerance: Positive = 1e-4
    """Share of its objective by which a fit may lie above its minimum. On SICK, 1e-6 moved no r by
    more than 0.0002 and took three times as long for 2,400 features."""
    max_steps: Count = 500
    adam: AdamRelatednessConfig = field(default_factory=AdamRelatednessConfig)
    """Of ``compatibility``."""

    @classmethod
    def of(cls, config: ProtocolConfig) -> RelatednessConfig:
        """Returns what a run's protocols share; the tolerance and the grid are relatedness' own."""
        return cls(
            classifier=config.classifier,
            max_steps=config.max_steps,
            adam=AdamRelatednessConfig(seed=config.seed, batch_loss=config.compatibility_loss),
        )

    def _check_together(self) -> None:
        """Refuses an empty grid."""
        if not self.regularisers:
            raise ValueError("regularisers must be above 0, got none")


@dataclass(frozen=True, slots=True, eq=False)
class Relatedness:
    """The answers of one model of relatedness, and how it was found."""

    predicted: FloatArray
    """[n]; between 1 and 5."""
    dev_pearson: float
    """Best Pearson's r on dev, between −1 and 1."""
    regulariser: float | None
    """The λ chosen; None where there is none."""
    at_grid_edge: bool
    """Whether it is the smallest or largest offered."""
    num_fits: int
    not_converged: int
    """Fits that stopped before the tolerance was reached."""
    epochs: int
    """Epochs trained; 0 where the fit does not know any."""


def relatedness(
    train_x: Tensor,
    train_scores: Tensor,
    dev_x: Tensor,
    dev_scores: Tensor,
    test_x: Tensor,
    config: RelatednessConfig | None = None,
) -> Relatedness:
    """Returns the predicted score of each test pair; computed where the features lie.

    Args:
        train_x: [N, D], float32 or float64, as they are: SentEval standardises nothing.
        train_scores: [N], 0 to 5.
        dev_x: [N', D]
        dev_scores: [N']
        test_x: [n, D]

    Raises:
        ValueError: scores out of range, features that are not finite, sizes that do not fit.
    """
    config = config or RelatednessConfig()
    check_items(train_x, train_scores, "train")
    check_items(dev_x, dev_scores, "dev")
    check_finite(test_x, "test")
    if config.classifier == "compatibility":
        return _by_adam(train_x, train_scores, dev_x, dev_scores, test_x, config.adam)
    return _by_logistic_regression(train_x, train_scores, dev_x, dev_scores, test_x, config)


def _by_adam(
    train_x: Tensor,
    train_scores: Tensor,
    dev_x: Tensor,
    dev_scores: Tensor,
    test_x: Tensor,
    config: AdamRelatednessConfig,
) -> Relatedness:
    model = fit_adam_relatedness(train_x, train_scores, dev_x, dev_scores, config)
    return Relatedness(
        predicted=_as_array(model.predict(test_x)),
        dev_pearson=model.dev_pearson,
        regulariser=None,
        at_grid_edge=False,
        num_fits=1,
        not_converged=0,
        epochs=model.epochs,
    )


def _by_logistic_regression(
    train_x: Tensor,
    train_scores: Tensor,
    dev_x: Tensor,
    dev_scores: Tensor,
    test_x: Tensor,
    config: RelatednessConfig,
) -> Relatedness:
    grid = config.regularisers
    penalties = torch.tensor(grid, dtype=torch.float64, device=train_x.device) * len(train_x)
    models = fit_logistic_regression(
        train_x,
        distributions(train_scores).to(train_x),
        penalties,
        num_classes=NUM_GRADES,
        tolerance=config.tolerance,
        max_steps=config.max_steps,
    )
    answers = expected_scores(torch.softmax(models.logits(dev_x), dim=2))
    gold = _as_array(dev_scores)
    dev_pearsons = [pearson(_as_array(predicted), gold).value for predicted in answers]
    best = int(np.argmax(dev_pearsons))
    predicted = expected_scores(torch.softmax(models.logits(test_x)[best], dim=1))
    return Relatedness(
        predicted=_as_array(predicted),
        dev_pearson=dev_pearsons[best],
        regulariser=grid[best],
        at_grid_edge=grid[best] in (min(grid), max(grid)),
        num_fits=len(grid),
        not_converged=int((~models.converged).sum()),
        epochs=0,
    )


def distributions(scores: Tensor) -> Tensor:
    """Returns the target [N, 5] of each score [N] for the cross-entropy.

    Differs from SentEval's targets for STS-B's scores below 1: these are all on grade 1, the
    nearest distribution. SentEval's rows sum to the score there, so that a pair weighs the less the
    more unlike its sentences are, and one of score 0 would not count at all.
    """
    return grade_targets(scores.clamp(min=1.0))


def _as_array(values: Tensor) -> FloatArray:
    return values.detach().to("cpu", torch.float64).numpy()
