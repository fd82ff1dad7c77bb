"""Raw sentences to flat arrays: cleaned, tokenized, parsed, looked up in a vocabulary.

Everything here is what the corpus stages do, so a sentence is read as it would be in training.

Tokens and parses may be kept in a folder, and are then made once for all encoders that read the
sentences. Each stage has a folder of its own, named by everything that determines its rows but the
sentences (``config.json`` spells that out), so that an encoder of one parse shares with one of two.
Sentences are kept in the pieces in which they were read::

    tokens-<digest>/         <sentences>.parquet
    dependencies-<digest>/   <sentences>.parquet
    constituents-<digest>/   <sentences>.parquet

A piece appears whole or not at all, and its pages have checksums: a parse that was killed goes on
with the first piece that is missing. Its rows are one Arrow table a stage: a row a sentence, a
refused one too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treeviews.models.config.views import COLUMNS, needed_stages
from treeviews.models.corpus.sentence_block import MAX_TOKENS, SentenceBlock
from treeviews.models.words.word_vectors import WordVectors
from treeviews.pipeline.base.atomic_files import (
    LEFT_SECONDS,
    sweep_unfinished,
    write_by_library,
    write_json_atomically,
)
from treeviews.pipeline.base.digest import digest_of, sentences_digest
from treeviews.pipeline.base.refusal import Refusal, RefusedSentence
from treeviews.pipeline.parsers.sentence_parser import SentenceParser, reject_input
from treeviews.pipeline.parsing.parse_shard import Row, describe_parsing, row_of
from treeviews.pipeline.shards.arrow import lists, numbers, strings, values_of
from treeviews.pipeline.shards.schema import schema_for
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
        self,
        piece: Piece,
        check: Callable[[Sequence[RefusedSentence]], None] = lambda refused: None,
    ) -> tuple[SentenceBlock, list[RefusedSentence]]:
        """Returns sentences' arrays, ``rows`` their positions, and the sentences that are refused.

        Each string is one sentence, whatever it holds.

        Args:
            piece: gives what it has of these sentences, and keeps the rest.
            check: told what is refused, first before anything is parsed.

        Raises:
            RuntimeError: memory, a device or a parser failed.
        """
        if piece.folder is None and not self._parsers:
            flat = self._tokenizer.tokenize_flat([clean_text(text)[0] for text in piece.sentences])
            lengths = np.diff(flat.offsets)
            if len(lengths) and lengths.min() > 0 and lengths.max() <= MAX_TOKENS:
                ids = self.vectors.token_ids(flat.words)[0][flat.places]
                rows = np.arange(len(lengths)) + piece.first
                return SentenceBlock.of_words(ids, flat.offsets, rows), []
        tokens = piece.table(TOKENS, describe_tokens(), partial(self._tokenize, piece.sentences))
        if self._parsers:
            check(_refused(rejections_of(tokens), piece.first))
        parses = {
            stage: piece.table(
                stage, describe_table(stage, checksum), partial(self._parse, stage, tokens)
            )
            for stage, checksum in self.parsers.items()
        }
        return self.read_tables({TOKENS: tokens, **parses}, piece.first, check)

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

    def read_tables(
        self, tables: Tables, first: int, check: Callable[[Sequence[RefusedSentence]], None]
    ) -> tuple[SentenceBlock, list[RefusedSentence]]:
        """Returns the same of sentences that are tokenized and parsed, counted from ``first``."""
        rejections: dict[int, Refusal] = {}
        for stage in (TOKENS, *self._parsers):  # of two that refuse it, the first one's word counts
            rejections = rejections_of(tables[stage]) | rejections
        refused = _refused(rejections, first)
        check(refused)
        count = tables[TOKENS].num_rows
        taken = np.array([i for i in range(count) if i not in rejections], dtype=np.int64)
        tokens = tables[TOKENS].column("tokens").combine_chunks().take(numbers(taken))
        lengths = values_of(pc.list_value_length(tokens))
        block = SentenceBlock.of_words(
            self.vectors.token_ids(tokens.flatten())[0],
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            taken + first,
        )
        trees = {
            name: values_of(
                tables[stage].column(name).combine_chunks().take(numbers(taken)).flatten()
            )
            for stage in self._parsers
            for name in COLUMNS[stage]
        }
        return replace(block, **trees), refused


def _refused(rejections: Mapping[int, Refusal], first: int) -> list[RefusedSentence]:
    """Returns refused sentences in their order, counted from ``first``."""
    return [RefusedSentence(first + i, r.reason, r.detail) for i, r in sorted(rejections.items())]


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
        rows = given.slice(start, SENTENCES_AT_ONCE).combine_chunks()
        piece = Piece(sentences[start : start + SENTENCES_AT_ONCE], start, folder)
        for stage in (TOKENS, *parsers):
            content = describe_table(stage, parsers.get(stage, ""))
            piece.table(stage, content, partial(stage_table, stage, rows))


logger = logging.getLogger(__name__)

FORMAT_VERSION = 3
"""Raised when a piece would be written otherwise; pieces of another version are not looked at."""
CONFIG_FILE = "config.json"
TOKENS = "tokens"
"""The stage before all parses; they are of its tokens."""

Tables = Mapping[str, pa.Table]
"""`TOKENS` or a parse stage -> its rows of the same sentences; see `schema_of`."""

_REFUSAL = (
    # Why this stage could not take the sentence; null where it could, or was not asked to.
    pa.field("reason", pa.string()),
    pa.field("detail", pa.string()),
)


class Piece:
    """Some raw sentences and what the stages made of them, in memory and in a folder if one is
    given."""

    def __init__(
        self, sentences: Sequence[str], first: int = 0, folder: Path | None = None
    ) -> None:
        """Args: first: place of the first of them among all."""
        self.sentences, self.first, self.folder = sentences, first, folder
        self._made: dict[str, pa.Table] = {}

    def table(
        self, stage: str, content: Mapping[str, Any], make: Callable[[], pa.Table]
    ) -> pa.Table:
        """Returns a stage's rows, made and kept if they are not there.

        A file that is damaged is made again and overwritten, with a warning.

        Args:
            stage: see `schema_of`.
            content: everything but the sentences that determines the rows, JSON-serialisable.
            make: gives the rows.
        """
        content = {**content, "format_version": FORMAT_VERSION}
        key = f"{stage}-{digest_of(content)}"
        if key not in self._made:
            kept = None if self.folder is None else self._read(self.folder / key, stage)
            self._made[key] = make() if kept is None else kept
            if kept is None and self.folder is not None:
                self._write(self.folder / key, content, self._made[key])
        return self._made[key]

    def _file(self, place: Path) -> Path:
        return place / f"{sentences_digest(self.sentences)}.parquet"

    def _read(self, place: Path, stage: str) -> pa.Table | None:
        """Returns the rows that are kept; None where there are none, or what is there is broken."""
        import pyarrow.parquet as pq  # takes as long to import as numpy; few encoders keep anything

        path = self._file(place)
        if not path.exists():
            return None
        try:
            table = pq.read_table(path, page_checksum_verification=True)
            if len(table) == len(self.sentences) and table.schema.equals(schema_of(stage)):
                return table
            error: object = f"{len(table)} rows of {table.schema.names}"
        except (pa.ArrowException, OSError, ValueError) as why:
            error = why
        logger.warning("%s: a broken piece is made again: %s", path, error)
        return None

    def _write(self, place: Path, content: Mapping[str, Any], table: pa.Table) -> None:
        """Writes rows; removes what writers that were killed left, but for what is young."""
        import pyarrow.parquet as pq

        if not (place / CONFIG_FILE).exists():
            place.mkdir(parents=True, exist_ok=True)
            write_json_atomically(place / CONFIG_FILE, content)
        sweep_unfinished(place, older_than_seconds=LEFT_SECONDS)
        options = {"compression": "zstd", "compression_level": 3, "write_page_checksum": True}
        write_by_library(self._file(place), partial(pq.write_table, table, **options))


def schema_of(stage: str) -> pa.Schema:
    """Returns the columns of a stage, as its schema has them, and those of refusals."""
    # Differs from the sentence shards: what is refused keeps its tokens, if it has any.
    columns = schema_for("sentences" if stage == TOKENS else stage)
    names = ("tokens",) if stage == TOKENS else COLUMNS[stage]
    return pa.schema([*(columns.field(name) for name in names), *_REFUSAL])


def token_table(tokens: Sequence[Sequence[str]], rejections: Sequence[Refusal | None]) -> pa.Table:
    """Returns the table of tokens, with what no parser is to be asked about."""
    schema = schema_of(TOKENS)
    # pa.array of lists would look for pandas, whose import takes longer than a first call.
    offsets = np.cumsum([0, *map(len, tokens)], dtype=np.int32)
    flat = strings(list(chain.from_iterable(tokens)), pa.string())
    words = pa.ListArray.from_arrays(numbers(offsets), flat, type=schema.field("tokens").type)
    return pa.Table.from_arrays([words, *_refusal_columns(rejections)], schema=schema)


def parse_table(stage: str, rows: Sequence[Row | Refusal | None]) -> pa.Table:
    """Returns the table of a parse stage; a row of nulls for what was refused or not asked."""
    schema = schema_of(stage)
    given = [None if isinstance(row, Refusal) else row for row in rows]
    arrays = [
        lists([None if row is None else row[name] for row in given], schema.field(name).type)
        for name in COLUMNS[stage]
    ]
    rejections = [row if isinstance(row, Refusal) else None for row in rows]
    return pa.Table.from_arrays([*arrays, *_refusal_columns(rejections)], schema=schema)


def stage_table(stage: str, given: pa.Table) -> pa.Table:
    """Returns a stage's table of sentences; those without a parse are refused as such.

    Args:
        given: the stage's columns, among others.
    """
    schema = schema_of(stage)
    names = [name for name in schema.names if name in given.column_names]
    columns = [given.column(name).cast(schema.field(name).type) for name in names]
    has_none = columns[0].is_null()
    reason = pc.if_else(has_none, f"no_{stage}", pa.scalar(None, pa.string()))
    return pa.Table.from_arrays(
        [*columns, reason, pc.if_else(has_none, "", pa.scalar(None, pa.string()))], schema=schema
    )


def rejections_of(table: pa.Table) -> dict[int, Refusal]:
    """Returns the refused sentences of a stage by row."""
    reasons, details = table.column("reason"), table.column("detail")
    rows = np.flatnonzero(values_of(reasons.combine_chunks().is_valid()))
    return {int(row): Refusal(reasons[row].as_py(), details[row].as_py()) for row in rows}


def _refusal_columns(rejections: Sequence[Refusal | None]) -> list[pa.Array]:
    if not any(rejections):
        return [pa.nulls(len(rejections), pa.string())] * 2
    return [
        pa.array([rejection and getattr(rejection, name) for rejection in rejections], pa.string())
        for name in ("reason", "detail")
    ]
