"""The bag of words of raw sentences: the baseline that no encoder may ignore.

Legend: b sentences of a batch, T their tokens, E dimensions of the word vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from models.corpus.sentence_block import SentenceBlock
from models.text.reading_encoder import EncodingSettings, FloatArray, ReadingEncoder
from models.text.sentence_reader import SentenceReader
from models.text.versions import describe_encoding
from models.variants import Pooling
from models.words.word_vectors import WordVectors
from pipeline.digest import digest_of


class WordsEncoder(ReadingEncoder):
    """Mean, maximum and minimum of a sentence's word vectors; unknown words are zero vectors.

    Its view is ``words``. Words have no last state, so their mean is given for it.
    """

    def __init__(self, vectors: WordVectors, settings: EncodingSettings | None = None) -> None:
        super().__init__(SentenceReader(vectors, {}), settings)
        self.vectors = vectors

    @cached_property
    def digest(self) -> str:
        """Of word vectors and tokenization."""
        return digest_of(
            {"encoding": describe_encoding(None), "read_with": self._reader.describe()}
        )

    def widths(self, pooling: Sequence[Pooling] = ("last",)) -> dict[str, int]:
        """Returns the width of each array of `encode_views`, by its key and in its order."""
        names = ["mean" if name == "last" else name for name in pooling]
        return {f"words.{name}": self.vectors.size for name in names}

    def _embed(self, block: SentenceBlock, pooling: Sequence[Pooling]) -> dict[str, FloatArray]:
        words = self.vectors.matrix[block.token_ids]
        starts = block.offsets[:-1]
        pooled: dict[str, FloatArray] = {}
        for key in self.widths(pooling):
            if key == "words.mean":
                sums = np.add.reduceat(words, starts, axis=0)
                pooled[key] = (sums / block.lengths[:, None]).astype(np.float32)
            else:
                extreme = np.maximum if key == "words.max" else np.minimum
                pooled[key] = extreme.reduceat(words, starts, axis=0)
        return pooled
