"""How much each word counts in a sentence: smooth inverse frequency (SIF).

Arora, Liang & Ma 2017, equation 3: a word of probability p weighs a / (a + p), so that frequent
words, which say little, count little.

Legend: V words, id 0 included.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.words.word_vectors import WordVectors

ZIPF_SHIFT = 2.7
"""Of Zipf's law as Mandelbrot wrote it, p ~ 1 / (rank + shift), for words (Piantadosi 2014)."""


def word_probabilities(vectors: WordVectors) -> NDArray[np.float64]:
    """Returns the probability of each word, float64 [V], 0 of the unknown one.

    It is that of the vectors' own counts. A file without counts is taken to hold the most frequent
    words first, as all files that are usual do, and their probabilities to follow Zipf's law.

    Raises:
        ValueError: counts that are all zero.
    """
    if vectors.counts is None:
        masses = 1.0 / (np.arange(vectors.num_words, dtype=np.float64) + ZIPF_SHIFT)
        masses[0] = 0.0
    else:
        masses = vectors.counts.astype(np.float64)
    total = masses.sum()
    if len(masses) > 1 and not total > 0:
        raise ValueError("the counts of the word vectors are all zero; train them again")
    probabilities: NDArray[np.float64] = masses / (total or 1.0)
    return probabilities


def sif_weights(vectors: WordVectors, a: float) -> NDArray[np.float32]:
    """Returns the weight a / (a + p) of each word, float32 [V], in (0, 1].

    Args:
        a: above 0; the probability at which a word weighs a half (Arora et al.: 1e-3 to 1e-4).
    """
    weights: NDArray[np.float32] = (a / (a + word_probabilities(vectors))).astype(np.float32)
    return weights
