"""The bag of words: a sentence's word vectors, pooled.

Legend: b sentences of a block, E dimensions of the word vectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.corpus.sentence_block import SentenceBlock
from models.views import Pooling
from models.words.word_vectors import WordVectors

_EXTREMES = {"max": np.maximum, "min": np.minimum}


def pooled_words(
    vectors: WordVectors, block: SentenceBlock, pooling: Pooling = "mean"
) -> NDArray[np.float32]:
    """Returns one vector a sentence, float32 [b, E]; unknown words count as zero vectors.

    Args:
        pooling: words have no last state, so their mean is given for it.
    """
    words = vectors.matrix[block.token_ids]
    starts = block.offsets[:-1]
    if pooling in _EXTREMES:
        extreme: NDArray[np.float32] = _EXTREMES[pooling].reduceat(words, starts, axis=0)
        return extreme
    sums = np.add.reduceat(words, starts, axis=0)
    return (sums / block.lengths[:, None]).astype(np.float32)
