"""Raw sentences to flat arrays: cleaned, tokenized, parsed, looked up in a vocabulary.

Everything here is what the corpus stages do, so a sentence is read as it would be in training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treeviews.models.config.views import needed_stages
from treeviews.models.corpus.sentence_block import MAX_TOKENS, SentenceBlock
from treeviews.models.encoding.parse_cache import (
    TOKENS,
    PieceTables,
    flat_values,
    offsets_of,
    parse_table,
    rejections_of,
    stage_table,
    token_table,
)
from treeviews.models.words.word_vectors import WordVectors
from treeviews.pipeline.base.refusal import Refusal, RefusedSentence
from treeviews.pipeline.parsers.sentence_parser import MAX_TOKENS as MAX_PARSED_TOKENS
from treeviews.pipeline.parsers.sentence_parser import SentenceParser, reject_input
from treeviews.pipeline.parsing.parse_shard import Row, describe_parsing, row_of
from treeviews.pipeline.shards.arrow import gather_ranges, values_of
from treeviews.pipeline.text.tokenization import (
    CLEANING_VERSION,
    TOKENIZATION_VERSION,
    EnglishTokenizer,
    clean_text,
    spacy_version,
)
from treeviews.pipeline.trees.flat_trees import Parse

SENTENCES_AT_ONCE = 2_048
"""Sentences tokenized, parsed and kept together; bounds the memory of their parses."""
ENCODING_VERSION = 1
"""Raised when the same weights, parsers and sentences would give other embeddings."""
WORDS_ENCODING_VERSION = 2
"""Raised when the same word vectors and sentences would give another bag of words."""

Parsers = Mapping[str, SentenceParser[Parse]]
"""Parse stage -> its parser."""


def describe_encoding(views: Sequence[str] | None) -> dict[str, Any]:
    """Returns what releases and installed libraries contribute to embeddings, for a digest.

    Args:
        views: of the encoder; None for the bag of words.
    """
    if views is None:
        return {"words_encoding_version": WORDS_ENCODING_VERSION, "tokens": describe_tokens()}
    return {
        "encoding_version": ENCODING_VERSION,
        "tokens": describe_tokens(),
        "parsing": {stage: describe_parsing(stage) for stage in needed_stages(views)},
    }


def describe_tokens() -> dict[str, Any]:
    """Returns everything but the sentences that determines their tokens."""
    return {
        "spacy": spacy_version(),
        "tokenization_version": TOKENIZATION_VERSION,
        "cleaning_version": CLEANING_VERSION,
        "max_tokens": MAX_TOKENS,
    }


def describe_table(stage: str, checksum: str = "") -> dict[str, Any]:
    """Returns everything but the sentences that determines a stage's table.

    Args:
        checksum: of the stage's parser, if it parses.
    """
    if stage == TOKENS:
        return describe_tokens()
    parser = {"checksum": checksum, **describe_parsing(stage)}
    return {"tokens": describe_tokens(), "parser": parser}


@dataclass(frozen=True, slots=True, eq=False)
class ReadSentences:
    """Sentences read, and those that were not."""

    block: SentenceBlock
    """Those that were; ``rows`` holds their positions."""
    refusals: list[RefusedSentence]


@dataclass(frozen=True, slots=True, eq=False)
class ParsedRows:
    """Sentences that are tokenized, and parsed as far as somebody reads parses, such as a corpus'.

    Rows stand alike in all tables; see `models.encoding.parse_cache.schema_of`.
    """

    tokens: pa.Table
    parses: Mapping[str, pa.Table]
    """Parse stage -> its rows."""

    def __len__(self) -> int:
        return int(self.tokens.num_rows)

    def slice(self, start: int, count: int) -> ParsedRows:
        """Returns some rows; shares memory with these."""
        parses = {stage: table.slice(start, count) for stage, table in self.parses.items()}
        return ParsedRows(self.tokens.slice(start, count), parses)


class SentenceReader:
    """A tokenizer, a vocabulary and the parsers that some views need."""

    def __init__(self, vectors: WordVectors, parsers: Parsers) -> None:
        """Takes the parsers of some stages; none for views that read words alone."""
        self.vectors = vectors
        self._parsers = dict(parsers)

    @cached_property
    def _tokenizer(self) -> EnglishTokenizer:
        return EnglishTokenizer()  # spaCy takes a second to import, for nothing if tokens are kept

    @property
    def parsers(self) -> dict[str, str]:
        """Parse stage -> checksum of the parser that reads it."""
        return {stage: parser.checksum for stage, parser in self._parsers.items()}

    def describe(self) -> dict[str, Any]:
        """Returns what sentences are read with, for a digest beside `describe_encoding`."""
        return {"vectors": self.vectors.checksum, "parsers": self.parsers}

    def read(
        self, sentences: Sequence[str], first: int = 0, tables: PieceTables | None = None
    ) -> ReadSentences:
        """Returns the sentences' arrays; each string is one sentence, whatever it holds.

        Args:
            first: position of the first one, for ``rows`` and refusals.
            tables: gives what it has of these sentences, and keeps the rest.

        Raises:
            RuntimeError: memory, a device or a parser failed.
        """
        tables = tables or PieceTables(sentences)
        if tables.folder is None and not self._parsers:
            return self._read_words(sentences, first)

        def table(stage: str, make: Callable[[], pa.Table]) -> pa.Table:
            return tables.table(stage, describe_table(stage, self.parsers.get(stage, "")), make)

        tokens = table(TOKENS, partial(self._tokenize, sentences))
        parses = {
            stage: table(stage, partial(self._parse, stage, tokens)) for stage in self._parsers
        }
        return self.read_rows(ParsedRows(tokens, parses), first)

    def read_rows(self, given: ParsedRows, first: int = 0) -> ReadSentences:
        """Returns the arrays of sentences that are tokenized and parsed.

        Args:
            given: of its parses those of this reader's stages are read.
            first: position of the first one, for ``rows`` and refusals.
        """
        tokens = given.tokens
        parses = {stage: given.parses[stage] for stage in self._parsers}
        rejections = rejections_of(tokens)
        for table in parses.values():  # of two parsers that refuse it, the first one's word counts
            rejections = rejections_of(table) | rejections
        taken = np.array([i for i in range(len(given)) if i not in rejections], dtype=np.int64)
        refusals = [
            RefusedSentence(first + i, r.reason, r.detail) for i, r in sorted(rejections.items())
        ]
        return ReadSentences(self._block(tokens, parses, taken, taken + first), refusals)

    def find_unreadable(self, sentences: Sequence[str]) -> list[RefusedSentence]:
        """Returns the sentences that are refused for being empty or too long, in their order.

        Quick, for no parser is asked, and only sentences that may be too long are tokenized.
        """
        limit = MAX_PARSED_TOKENS if self._parsers else MAX_TOKENS
        # Cleaning adds no character and leaves letters; no token is shorter than a character.
        suspects = (
            i for i, raw in enumerate(sentences) if not (raw[:1].isalnum() and len(raw) <= limit)
        )
        texts = ((i, clean_text(sentences[i])[0]) for i in suspects)
        doubtful = {i: text for i, text in texts if not 0 < len(text) <= limit}
        if not doubtful:
            return []
        tokenized = self._tokenizer.tokenize(list(doubtful.values()))
        rejections = [reject_input(text.words, limit) for text in tokenized]
        return [
            RefusedSentence(i, rejection.reason, rejection.detail)
            for i, rejection in zip(doubtful, rejections, strict=True)
            if rejection is not None
        ]

    def _read_words(self, sentences: Sequence[str], first: int) -> ReadSentences:
        """Returns what `read` does where no view needs a parse and nothing is kept."""
        texts = [clean_text(sentence)[0] for sentence in sentences]
        tokens = self._tokenizer.tokenize_flat(texts)
        ids, offsets = self.vectors.token_ids(tokens.words)[0][tokens.places], tokens.offsets
        lengths = np.diff(offsets)
        is_taken = (lengths > 0) & (lengths <= MAX_TOKENS)
        taken, refusals = np.flatnonzero(is_taken), []
        if len(taken) < len(texts):
            for row in np.flatnonzero(~is_taken):
                (text,) = self._tokenizer.tokenize([texts[row]])
                rejection = reject_input(text.words, MAX_TOKENS)
                assert rejection is not None
                refusals.append(
                    RefusedSentence(first + int(row), rejection.reason, rejection.detail)
                )
            positions, offsets = gather_ranges(offsets, taken)
            ids = ids[positions]
        return ReadSentences(SentenceBlock.of_words(ids, offsets, taken + first), refusals)

    def _tokenize(self, sentences: Sequence[str]) -> pa.Table:
        texts = self._tokenizer.tokenize([clean_text(sentence)[0] for sentence in sentences])
        tokens = [text.words for text in texts]
        return token_table(tokens, [reject_input(words, MAX_TOKENS) for words in tokens])

    def _parse(self, stage: str, token_rows: pa.Table) -> pa.Table:
        """Returns a stage's table of all sentences, whatever another stage makes of them."""
        tokens = token_rows.column("tokens").to_pylist()
        refused = rejections_of(token_rows)
        asked = [i for i in range(len(tokens)) if i not in refused]
        parses = self._parsers[stage].parse([tokens[i] for i in asked])
        rows: list[Row | Refusal | None] = [None] * len(tokens)
        for i, parse in zip(asked, parses, strict=True):
            rows[i] = parse if isinstance(parse, Refusal) else row_of(parse, tokens[i])
        return parse_table(stage, rows)

    def _block(
        self,
        tokens: pa.Table,
        parses: Mapping[str, pa.Table],
        taken: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> SentenceBlock:
        """Returns the sentences that are taken as flat arrays; ``rows`` is theirs in the block."""

        def numbers(name: str, stage: str) -> NDArray[np.int16] | None:
            if stage not in parses:
                return None
            return values_of(flat_values(parses[stage], name, taken))

        words = self.vectors.token_ids(flat_values(tokens, "tokens", taken))[0]
        return replace(
            SentenceBlock.of_words(words, offsets_of(tokens, "tokens", taken), rows),
            heads=numbers("heads", "dependencies"),
            binary_left=numbers("binary_left", "constituents"),
            binary_right=numbers("binary_right", "constituents"),
        )


def keep_given(
    folder: Path, sentences: Sequence[str], given: pa.Table, parsers: Mapping[str, str]
) -> None:
    """Keeps them in a folder of parses, in the pieces in which encoders read the sentences.

    An encoder with other parsers shares the tokens and parses these anew.

    Args:
        given: a row a sentence: its tokens, and the columns of each stage of ``parsers``.
        parsers: parse stage -> checksum of the parser that made its columns.
    """
    for start in range(0, len(sentences), SENTENCES_AT_ONCE):
        piece = sentences[start : start + SENTENCES_AT_ONCE]
        rows = given.slice(start, len(piece)).combine_chunks()
        tables = PieceTables(piece, folder)
        for stage in (TOKENS, *parsers):
            content = describe_table(stage, parsers.get(stage, ""))
            tables.table(stage, content, partial(stage_table, stage, rows))
