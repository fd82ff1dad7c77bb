"""Raw sentences to flat arrays: cleaned, tokenized, parsed, looked up in a vocabulary.

Everything here is what the corpus stages do, so a sentence is read as it would be in training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.corpus.sentence_block import SentenceBlock
from models.sentence_batch import MAX_TOKENS
from models.words.word_vectors import WordVectors
from pipeline.parsers.base import SentenceParser, reject_input
from pipeline.parsing import Parse, Row, row_of
from pipeline.rejection import Rejection
from pipeline.sentences.filter import CLEANING_VERSION, clean_text
from pipeline.sentences.tokenization import TOKENIZATION_VERSION, EnglishTokenizer, spacy_version

Parsers = Mapping[str, SentenceParser[Parse]]
"""Parse stage -> its parser."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one sentence could not be taken."""

    index: int
    """Position among the sentences, from 0."""
    reason: str
    """As in quarantine files: ``empty``, ``too_long``, ``parser_error``, ``invalid_tree``."""
    detail: str

    def __str__(self) -> str:
        return f"sentence {self.index} (from 0): {self.reason}" + (
            f" ({self.detail})" if self.detail else ""
        )


@dataclass(frozen=True, slots=True, eq=False)
class ReadSentences:
    """Sentences read, and those that were not."""

    block: SentenceBlock
    """Those that were; ``rows`` holds their positions."""
    refusals: list[Refusal]


class SentenceReader:
    """A tokenizer, a vocabulary and the parsers that some views need."""

    def __init__(self, vectors: WordVectors, parsers: Parsers) -> None:
        """Takes loaded parsers; none for views that read words alone."""
        self.vectors = vectors
        self._parsers = dict(parsers)
        self._tokenizer = EnglishTokenizer()

    def describe(self) -> dict[str, Any]:
        """Returns everything but the sentences that determines what is read, for a digest."""
        return {
            "spacy": spacy_version(),
            "tokenization_version": TOKENIZATION_VERSION,
            "cleaning_version": CLEANING_VERSION,
            "vectors": self.vectors.checksum,
            "parsers": {stage: parser.checksum for stage, parser in self._parsers.items()},
        }

    def read(self, sentences: Sequence[str], first: int = 0) -> ReadSentences:
        """Returns the sentences' arrays; each string is one sentence, whatever it holds.

        Args:
            first: position of the first one, for ``rows`` and refusals.

        Raises:
            MemoryError, RuntimeError: memory or a device failed in a parser.
        """
        texts = self._tokenizer.tokenize([clean_text(sentence)[0] for sentence in sentences])
        tokens = [text.words for text in texts]
        rejections = {i: r for i, t in enumerate(tokens) if (r := reject_input(t, MAX_TOKENS))}
        columns: dict[int, Row] = {i: {} for i in range(len(tokens))}
        for parser in self._parsers.values():
            # What is refused already is not worth a parser's time.
            asked = [i for i in columns if i not in rejections]
            for i, parse in zip(asked, parser.parse([tokens[i] for i in asked]), strict=True):
                row = parse if isinstance(parse, Rejection) else row_of(parse, tokens[i])
                if isinstance(row, Rejection):
                    rejections[i] = row
                else:
                    columns[i].update(row)
        taken = [i for i in columns if i not in rejections]
        block = self._block([tokens[i] for i in taken], [columns[i] for i in taken])
        refusals = [Refusal(first + i, r.reason, r.detail) for i, r in sorted(rejections.items())]
        return ReadSentences(replace(block, rows=np.array(taken, np.int64) + first), refusals)

    def _block(self, tokens: Sequence[Sequence[str]], columns: Sequence[Row]) -> SentenceBlock:
        """Returns sentences and their parses as flat arrays; ``rows`` is not set yet."""
        count = len(tokens)
        words = pa.array([word for sentence in tokens for word in sentence], type=pa.string())

        def flat(name: str, stage: str) -> NDArray[np.int16] | None:
            if stage not in self._parsers:
                return None
            return np.array([value for row in columns for value in row[name]], dtype=np.int16)

        return SentenceBlock(
            token_ids=self.vectors.token_ids(words)[0],
            offsets=np.cumsum([0, *map(len, tokens)], dtype=np.int64),
            documents=np.zeros(count, dtype=np.int32),
            sentence_index=np.arange(count, dtype=np.int32),
            rows=np.arange(count, dtype=np.int64),
            heads=flat("heads", "dependencies"),
            binary_left=flat("binary_left", "constituents"),
            binary_right=flat("binary_right", "constituents"),
        )
