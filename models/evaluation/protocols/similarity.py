"""Nothing is learnt: the cosine of the two vectors of a pair is its answer (STS, SICK14)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from models.evaluation.protocols.outcome import Outcome, Predictions

FloatArray = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]


def cosines(first: Vectors, second: Vectors) -> FloatArray:
    """Returns the cosine [n] of each pair of rows [n, d]; 0 where a vector is zero.

    As SentEval's, whose undefined cosines become 0 (``sts.py``).
    """
    a, b = first.astype(np.float64), second.astype(np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    products: FloatArray = (a * b).sum(axis=1)
    np.divide(products, lengths, out=products, where=lengths > 0)
    return products


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
    return Outcome(predictions, counts, width=pairs[names[0]][0].shape[1])
