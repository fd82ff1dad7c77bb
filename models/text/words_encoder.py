"""The bag of words of raw sentences: the baseline that no encoder may ignore."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from models.corpus.sentence_block import SentenceBlock, pooled_words
from models.text.reading_encoder import EncodingSettings, FloatArray, ReadingEncoder
from models.text.sentence_reader import SentenceReader
from models.text.versions import describe_encoding
from models.views import Pooling
from models.words.word_vectors import WordVectors
from pipeline.digest import digest_of


class WordsEncoder(ReadingEncoder):
    """Mean, maximum and minimum of a sentence's word vectors; unknown words are zero vectors.

    Its view is ``words``. Words have no last state, so their mean is given for it; asked for both,
    it gives that one array.
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
        return {f"words.{name}": self.vectors.size for name in _given(pooling)}

    def _embed(self, block: SentenceBlock, pooling: Sequence[Pooling]) -> dict[str, FloatArray]:
        return {
            f"words.{name}": pooled_words(self.vectors, block, name) for name in _given(pooling)
        }


def _given(pooling: Sequence[Pooling]) -> list[Pooling]:
    return list(dict.fromkeys("mean" if name == "last" else name for name in pooling))
