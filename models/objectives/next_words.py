"""Which words each sentence of a batch is to predict: those of the one after it."""

from __future__ import annotations

import numpy as np

from models.corpus.sentence_block import SentenceBlock
from models.objectives.base import NextWords
from models.schedules.arrays import distinct_words, to_tensor


def next_words_of(block: SentenceBlock) -> NextWords:
    """Returns the words that the block's sentences predict.

    A sentence predicts if the one after it in its document is the next one of the block; the last
    of a document or of the block does not, nor one before a gap.
    """
    follows = (block.documents[1:] == block.documents[:-1]) & (
        block.sentence_index[1:] == block.sentence_index[:-1] + 1
    )
    predictors = np.flatnonzero(follows)
    predicted = block.take(predictors + 1)
    word_ids, words = distinct_words(predicted.token_ids.astype(np.int64))
    return NextWords(
        word_ids=to_tensor(word_ids),
        words=to_tensor(words),
        offsets=to_tensor(predicted.offsets),
        predictors=to_tensor(predictors),
    )
