"""Scores of pairs: relatedness learnt from graded pairs, and the cosine where nothing is learnt.

Relatedness (SICK-R, STS-B) is learnt as a distribution over five grades. Train decides the model,
Pearson's r on dev the regulariser or the time to stop, test is answered
once. By default the model is that of Tai, Socher & Manning (2015, section 4.2) with fixed
sentence vectors: softmax of a linear map of [|u − v|, u ∗ v], and

    mean over pairs of KL(target ‖ softmax(W x + b))  +  λ/2 · ‖W‖²,

which is convex. As compatibility there is SentEval's: squared error in place of the divergence, no
regulariser, Adam stopped early.

Legend: n pairs of a split, D features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models.evaluation.classifiers.inputs import check_finite, check_items
from models.evaluation.classifiers.logistic_regression import fit_logistic_regression
from models.evaluation.classifiers.senteval_models import (
    NUM_GRADES,
    AdamRelatednessConfig,
    expected_scores,
    fit_adam_relatedness,
    grade_targets,
)
from models.evaluation.protocols.config import Classifier, ProtocolConfig
from models.evaluation.protocols.outcome import ZERO_VECTORS, Outcome, Predictions
from models.evaluation.statistics.weighted_scores import pearson
from pipeline.base.settings import Count, Positive, Settings

FloatArray = npt.NDArray[np.float64]

REGULARISERS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""λ. Tai et al. use 1e-4 (section 5.3). On SICK's dev pairs the mean of the bundled vectors (200
features) does best at 1e-7 and below, its projection to 1,200 (2,400 features) at 1e-5."""


class RelatednessConfig(Settings):
    """How relatedness is learnt."""

    called: ClassVar[str] = "relatedness setting"

    classifier: Classifier = "logistic_regression"
    tolerance: Positive = 1e-4
    """Share of its objective by which a fit may lie above its minimum. On SICK, 1e-6 moved no r by
    more than 0.0002 and took three times as long for 2,400 features."""
    max_steps: Count = 500
    adam: AdamRelatednessConfig = AdamRelatednessConfig()
    """Of ``compatibility``."""

    @classmethod
    def of(cls, config: ProtocolConfig) -> RelatednessConfig:
        """Returns what a run's protocols share; the tolerance and the grid are relatedness' own."""
        return cls(
            classifier=config.classifier,
            max_steps=config.max_steps,
            adam=AdamRelatednessConfig(seed=config.seed, batch_loss=config.compatibility_loss),
        )


def relatedness(
    features: Mapping[str, Tensor],
    gold: Mapping[str, FloatArray],
    config: RelatednessConfig | None = None,
) -> Outcome:
    """Returns the predicted score of each test pair; computed where the features lie.

    Args:
        features: ``train``, ``dev`` and ``test``, [n, D] each, float32 or float64, as they are:
            SentEval standardises nothing.
        gold: scores [n] of each, 0 to 5; those of test are for the comparison alone.

    Raises:
        ValueError: scores out of range, features that are not finite, sizes that do not fit.
    """
    config = config or RelatednessConfig()
    scores = {name: torch.from_numpy(gold[name]).to(features[name]) for name in ("train", "dev")}
    for name, answers in scores.items():
        check_items(features[name], answers, name)
    check_finite(features["test"], "test")
    by_adam = config.classifier == "compatibility"
    found = (_by_adam if by_adam else _by_logistic_regression)(features, scores, config)
    test = gold["test"]
    predictions = Predictions(found.answers, test, np.zeros(len(test), dtype=np.int64))
    regulariser = found.regulariser
    return Outcome(
        predictions,
        counts={name: len(values) for name, values in gold.items()},
        width=features["test"].shape[1],
        dev_score=100.0 * found.dev_pearson,
        regularisers=() if regulariser is None else (regulariser,),
        at_grid_edge=int(regulariser in (REGULARISERS[0], REGULARISERS[-1])),
        num_fits=1 if by_adam else len(REGULARISERS),
        not_converged=found.not_converged,
        details={"epochs": found.epochs} if by_adam else {},
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    answers: FloatArray
    dev_pearson: float
    regulariser: float | None = None
    not_converged: int = 0
    epochs: int = 0


def _by_adam(
    features: Mapping[str, Tensor], scores: Mapping[str, Tensor], config: RelatednessConfig
) -> _Found:
    model = fit_adam_relatedness(
        features["train"], scores["train"], features["dev"], scores["dev"], config.adam
    )
    answers = _as_array(model.predict(features["test"]))
    return _Found(answers, model.dev_pearson, epochs=model.epochs)


def _by_logistic_regression(
    features: Mapping[str, Tensor], scores: Mapping[str, Tensor], config: RelatednessConfig
) -> _Found:
    grid, train_x = REGULARISERS, features["train"]
    penalties = torch.tensor(grid, dtype=torch.float64, device=train_x.device) * len(train_x)
    models = fit_logistic_regression(
        train_x,
        distributions(scores["train"]).to(train_x),
        penalties,
        num_classes=NUM_GRADES,
        tolerance=config.tolerance,
        max_steps=config.max_steps,
    )
    on_dev = expected_scores(torch.softmax(models.logits(features["dev"]), dim=2))
    gold = _as_array(scores["dev"])
    dev_pearsons = [pearson(_as_array(predicted), gold) for predicted in on_dev]
    best = int(np.argmax(dev_pearsons))
    answers = expected_scores(torch.softmax(models.logits(features["test"])[best], dim=1))
    failed = int((~models.converged).sum())
    return _Found(_as_array(answers), dev_pearsons[best], grid[best], failed)


def distributions(scores: Tensor) -> Tensor:
    """Returns the target [n, 5] of each score [n] for the cross-entropy.

    Differs from SentEval's targets for STS-B's scores below 1: these are all on grade 1, the
    nearest distribution. SentEval's rows sum to the score there, so that a pair weighs the less the
    more unlike its sentences are, and one of score 0 would not count at all.
    """
    return grade_targets(scores.clamp(min=1.0))


def _as_array(values: Tensor) -> FloatArray:
    return values.detach().to("cpu", torch.float64).numpy()


Vectors = npt.NDArray[np.float32]


COSINE_DECIMALS = 12
"""To which cosines are rounded. Pairs of equal sentences, which a data set may have by the hundred,
have cosines some 1e-16 from 1 and from one another; ranked as they are, chance would order them."""


def cosines(first: Vectors, second: Vectors) -> FloatArray:
    """Returns the cosine [n] of each pair of rows [n, d], rounded; 0 where a vector is zero.

    As SentEval's, whose undefined cosines become 0 (``sts.py``). Differs from it: they are rounded
    to `COSINE_DECIMALS`, so that pairs which differ by rounding alone are tied.
    """
    a, b = first.astype(np.float64), second.astype(np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    products: FloatArray = (a * b).sum(axis=1)
    np.divide(products, lengths, out=products, where=lengths > 0)
    return products.round(COSINE_DECIMALS)


def cosine_similarity(
    pairs: Mapping[str, tuple[Vectors, Vectors]], gold: Mapping[str, FloatArray]
) -> Outcome:
    """Returns the cosines of all subsets' pairs, one group a subset.

    Args:
        pairs: by subset, the vectors [n, d] of first and second sentences.
        gold: [n] by subset.
    """
    names = tuple(pairs)
    predicted = [cosines(*pairs[name]) for name in names]
    groups = np.repeat(np.arange(len(names)), [len(part) for part in predicted])
    predictions = Predictions(
        predicted=np.concatenate(predicted),
        gold=np.concatenate([gold[name] for name in names]).astype(np.float64),
        groups=groups,
        group_names=names,
    )
    counts = {name: len(part) for name, part in zip(names, predicted, strict=True)}
    without = sum(int((~(a.any(axis=1) & b.any(axis=1))).sum()) for a, b in pairs.values())
    details = {ZERO_VECTORS: without} if without else {}
    return Outcome(predictions, counts, width=pairs[names[0]][0].shape[1], details=details)
