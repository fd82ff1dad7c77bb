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

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from treeviews.models.evaluation.adam_classifiers import (
    NUM_GRADES,
    AdamConfig,
    expected_scores,
    fit_adam_relatedness,
    grade_targets,
)
from treeviews.models.evaluation.evaluation_settings import ProtocolConfig
from treeviews.models.evaluation.logistic_regression import fit_logistic_regression
from treeviews.models.evaluation.resampling import FloatArray, pearson
from treeviews.models.evaluation.scores import ZERO_VECTORS, Outcome, Predictions

Vectors = npt.NDArray[np.float32]

REGULARISERS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""λ. Tai et al. use 1e-4 (section 5.3). On SICK's dev pairs the mean of the bundled vectors (200
features) does best at 1e-7 and below, its projection to 1,200 (2,400 features) at 1e-5."""
TOLERANCE = 1e-4
"""Share of its objective by which a fit may lie above its minimum. On SICK, 1e-6 moved no r by
more than 0.0002 and took three times as long for 2,400 features."""


def learn_relatedness(
    features: Mapping[str, Tensor],
    gold: Mapping[str, FloatArray],
    config: ProtocolConfig,
) -> Outcome:
    """Returns the predicted score of each test pair; computed where the features lie.

    Args:
        features: ``train``, ``dev`` and ``test``, [n, D] each, float32 or float64, as they are:
            SentEval standardises nothing.
        gold: scores [n] of each, 0 to 5; those of test are for the comparison alone.
        config: of which the tolerance and the grids are those of classes alone.

    Raises:
        ValueError: scores out of range.
    """
    scores = {name: torch.from_numpy(gold[name]).to(features[name]) for name in ("train", "dev")}
    if config.classifier == "compatibility":
        adam = AdamConfig.of_relatedness(seed=config.seed, batch_loss=config.compatibility_loss)
        train, dev = ((features[name], scores[name]) for name in ("train", "dev"))
        model = fit_adam_relatedness(train, dev, adam)
        answers = model.predict_scores(features["test"])
        dev_score, epochs = 100.0 * float(model.dev_scores[0]), int(model.epochs[0])
        details: dict[str, Any] = {"dev_score": dev_score, "num_fits": 1}
        details["details"] = {"epochs": epochs}
    else:
        answers, details = _by_logistic_regression(features, scores, config)
    return Outcome(
        Predictions(_as_array(answers), gold["test"], np.zeros(len(gold["test"]), dtype=np.int64)),
        counts={name: len(values) for name, values in gold.items()},
        width=features["test"].shape[1],
        **details,
    )


def _by_logistic_regression(
    features: Mapping[str, Tensor], scores: Mapping[str, Tensor], config: ProtocolConfig
) -> tuple[Tensor, dict[str, Any]]:
    """Returns the scores of test, and what else an outcome says."""
    train_x = features["train"]
    penalties = torch.tensor(REGULARISERS, dtype=torch.float64, device=train_x.device)
    models = fit_logistic_regression(
        train_x,
        distributions(scores["train"]).to(train_x),
        penalties * len(train_x),
        num_classes=NUM_GRADES,
        tolerance=TOLERANCE,
        max_steps=config.max_steps,
    )
    on_dev = expected_scores(torch.softmax(models.logits(features["dev"]), dim=2))
    gold = _as_array(scores["dev"])
    dev_pearsons = [pearson(_as_array(predicted), gold) for predicted in on_dev]
    best = int(np.argmax(dev_pearsons))
    answers = expected_scores(torch.softmax(models.logits(features["test"])[best], dim=1))
    return answers, {
        "dev_score": 100.0 * dev_pearsons[best],
        "regularisers": (REGULARISERS[best],),
        "at_grid_edge": int(best in (0, len(REGULARISERS) - 1)),
        "num_fits": len(REGULARISERS),
        "not_converged": int((~models.converged).sum()),
    }


def distributions(scores: Tensor) -> Tensor:
    """Returns the target [n, 5] of each score [n] for the cross-entropy.

    Differs from SentEval's targets for STS-B's scores below 1: these are all on grade 1, the
    nearest distribution. SentEval's rows sum to the score there, so that a pair weighs the less the
    more unlike its sentences are, and one of score 0 would not count at all.
    """
    return grade_targets(scores.clamp(min=1.0))


def _as_array(values: Tensor) -> FloatArray:
    return values.detach().to("cpu", torch.float64).numpy()


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
    pairs: Mapping[str, Sequence[Vectors]], gold: Mapping[str, FloatArray]
) -> Outcome:
    """Returns the cosines of all subsets' pairs, one group a subset.

    Args:
        pairs: by subset, the vectors [n, d] of first and second sentences.
        gold: [n] by subset.
    """
    names = tuple(pairs)
    predicted = [cosines(*pairs[name]) for name in names]
    counts = {name: len(part) for name, part in zip(names, predicted, strict=True)}
    predictions = Predictions(
        predicted=np.concatenate(predicted),
        gold=np.concatenate([gold[name] for name in names]),
        groups=np.repeat(np.arange(len(names)), list(counts.values())),
        group_names=names,
    )
    without = sum(int((~(a.any(axis=1) & b.any(axis=1))).sum()) for a, b in pairs.values())
    details = {ZERO_VECTORS: without} if without else {}
    return Outcome(predictions, counts, width=pairs[names[0]][0].shape[1], details=details)
