"""Encoders that read raw sentences in chunks, by batches of like length; of them the bag of words.

Legend: n sentences, H width of a view, d width of all views together.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from models.config.training_config import TrainingConfig
from models.config.training_presets import PRESETS
from models.config.views import Pooling
from models.corpus.sentence_block import SentenceBlock, pooled_words
from models.encoding.encoder_interface import FloatArray
from models.encoding.parse_cache import ParseCache, PieceInMemory, TableKeeper
from models.encoding.sentence_reader import (
    SENTENCES_AT_ONCE,
    ParsedRows,
    ReadSentences,
    SentenceReader,
)
from models.encoding.string_encoder import (
    LAST,
    Asked,
    Progress,
    StringEncoder,
    check_pooling,
)
from models.encoding.versions import describe_encoding
from models.model.model_description import OPTION_OF_STAGE
from models.words.word_vectors import WordVectors
from pipeline.base.digest import digest_of
from pipeline.base.foreign_text import listed_strings
from pipeline.base.refusal import RefusedSentence, named
from pipeline.base.settings import Settings, at_least

OnRefusal = Literal["error", "zero"]
Rows = NDArray[np.int64]

BATCH_SIZE = 256
"""Sentences embedded at once, unless the settings say another number."""
WORDS_AT_ONCE = 1 << 17
"""Tokens of a batch where words alone are pooled, which takes no memory of their number."""
TOKENS_AT_ONCE = 16_384
"""Tokens of a batch, unless a single sentence has more; bounds the memory of their states."""


class EncoderSettings(Settings):
    """What encoders are made with, each taking what concerns it.

    Machine, batches and refusals change nothing of the embedding of a sentence that can be taken.
    """

    called: ClassVar[str] = "encoder setting"

    device: str = "cpu"
    batch_size: Annotated[int | None, at_least(0)] = None
    """Sentences at once, fewer where they are long; None takes what the kind of encoder has by
    default."""
    on_refusal: OnRefusal = "zero"
    """A sentence that cannot be taken ends it all, or is a vector of zeros and listed."""
    vectors: Path | None = None
    """Word vectors; by default a model's own, and for baselines those that ship."""
    dependency_parser: Path | None = None
    """By default a model's own, and for untrained ones that which ships."""
    constituency_parser: Path | None = None
    parses: Path | None = None
    """Folder that keeps tokens and parses, for all encoders that read the same sentences."""
    config: TrainingConfig = PRESETS["laptop"]
    """Whose architecture an untrained encoder has."""

    def parser(self, stage: str) -> Path | None:
        """Returns where the parser of a stage lies, if that is said."""
        path: Path | None = getattr(self, OPTION_OF_STAGE[stage])
        return path


@dataclass(frozen=True, slots=True, eq=False)
class EncodedPiece:
    """Vectors of some successive sentences, batch by batch."""

    first: int
    """Position of the first one."""
    parts: Sequence[tuple[Rows, Mapping[str, FloatArray]]]
    """Positions and vectors of each batch, by `key_of` view and pooling."""
    refused: Sequence[RefusedSentence]

    def put_into(self, arrays: Mapping[str, FloatArray]) -> None:
        """Writes the vectors to their rows in arrays of all sentences, [n, H] each."""
        for rows, vectors in self.parts:
            for key, array in vectors.items():
                arrays[key][rows] = array


class ReadingEncoder(StringEncoder):
    """Raw sentences in, one vector a sentence out, in their order."""

    _most_at_once: tuple[int, int] = BATCH_SIZE, TOKENS_AT_ONCE
    """Sentences of a batch, unless the settings say another number, and their tokens."""
    _turn: AbstractContextManager[Any] = nullcontext()
    """What a thread holds while it encodes; for those that share what is written, a lock."""

    def __init__(self, reader: SentenceReader, settings: EncoderSettings | None = None) -> None:
        """Takes what reads sentences.

        Args:
            settings: by default a sentence that cannot be taken is an error.

        Raises:
            ValueError: a batch of no sentences.
        """
        self.settings = settings or EncoderSettings(on_refusal="error")
        if self.settings.batch_size == 0:
            raise ValueError("batch_size must be at least 1, got 0")
        self.refused: list[RefusedSentence] = []
        """Sentences of the last call that became zeros."""
        self._reader = reader
        self.vectors = reader.vectors
        """Those that tokens are looked up by, as loaded."""

    @property
    def fails_on_refusal(self) -> bool:
        """Whether a sentence that cannot be taken is an error instead of zeros."""
        return self.settings.on_refusal == "error"

    @property
    @abstractmethod
    def digest(self) -> str:
        """Of everything that determines the embeddings of a sentence, but for rounding."""

    @abstractmethod
    def widths(self, pooling: Sequence[Pooling] = ("last",)) -> dict[str, int]:
        """Returns the width of each array of `encode_views`, by its key and in its order."""

    @abstractmethod
    def _embed(self, block: SentenceBlock, pooling: Sequence[Pooling]) -> dict[str, FloatArray]:
        """Returns the vectors of one batch, [b, H] by key."""

    def _vectors(
        self, sentences: Sequence[str], asked: Asked, on_progress: Progress | None
    ) -> FloatArray:
        views = self.encode_views(
            sentences, asked.pooling, batch_size=asked.batch_size, on_progress=on_progress
        )
        first, *others = views.values()
        return np.concatenate([first, *others], axis=1) if others else first

    def encode_views(
        self,
        sentences: Sequence[str],
        pooling: Sequence[Pooling] = LAST,
        *,
        batch_size: int | None = None,
        on_progress: Progress | None = None,
    ) -> dict[str, FloatArray]:
        """Returns each view's vectors, float32 [n, H], by view and pooling (``0-DEP.last``).

        Args:
            sentences: raw text; each string is one sentence.
            pooling: how a view's states become one vector.
            batch_size: sentences embedded at once; None takes what the settings say.
            on_progress: told the share of the sentences done.

        Raises:
            ValueError: see `encode`.
        """
        sentences = listed_strings(sentences)
        return next(read_side_by_side([self], sentences, pooling, batch_size, on_progress))

    def encoded_pieces(
        self,
        sentences: Sequence[str],
        pooling: Sequence[Pooling],
        batch_size: int | None,
        tables: TableKeeper | None,
    ) -> Iterator[EncodedPiece]:
        """Returns what `encode_views` gives, `SENTENCES_AT_ONCE` sentences at a time.

        Args:
            batch_size: see `encode_views`.
            tables: keeps tokens and parses of a piece for other encoders, where no folder does.

        Raises:
            ValueError: see `encode`.
        """
        if self.fails_on_refusal:
            fail_if_any(self._reader.refused_unread(sentences))
        parses = self.settings.parses
        # What reads words alone is quicker without a table to keep.
        cache = (tables if self.parses else None) if parses is None else ParseCache(parses)

        def read(start: int) -> ReadSentences:
            piece = sentences[start : start + SENTENCES_AT_ONCE]
            return self._reader.read(piece, start, cache=cache)

        return self._pieces(len(sentences), read, pooling, batch_size)

    def encode_rows(
        self, rows: ParsedRows, pooling: Sequence[Pooling] = LAST
    ) -> dict[str, FloatArray]:
        """Returns the same of sentences that are tokenized and parsed, such as rows of a corpus.

        Args:
            rows: the parses that the views read must be among them, by this encoder's parsers.

        Raises:
            ValueError: as in `encode_views`, where refused sentences are an error.
        """
        check_pooling(pooling)

        def read(start: int) -> ReadSentences:
            return self._reader.read_rows(rows.slice(start, SENTENCES_AT_ONCE), start)

        widths = self.widths(pooling)
        arrays = {key: np.zeros((len(rows), width), np.float32) for key, width in widths.items()}
        refused: list[RefusedSentence] = []
        for piece in self._pieces(len(rows), read, pooling, None):
            piece.put_into(arrays)
            refused += piece.refused
        self.refused = refused
        return arrays

    def _pieces(
        self,
        num_sentences: int,
        read_from: Callable[[int], ReadSentences],
        pooling: Sequence[Pooling],
        batch_size: int | None,
    ) -> Iterator[EncodedPiece]:
        """Yields the vectors of sentences piece by piece.

        Args:
            read_from: gives the piece that begins at a sentence.
        """
        size = batch_size or self.settings.batch_size or self._most_at_once[0]
        for start in range(0, num_sentences, SENTENCES_AT_ONCE):
            with self._turn:
                read = read_from(start)
                if self.fails_on_refusal:
                    fail_if_any(read.refusals)
                parts = [
                    (batch.rows, self._embed(batch, pooling))
                    for batch in self._batches(read.block, size)
                ]
            yield EncodedPiece(start, parts, read.refusals)

    @property
    def parsers(self) -> Mapping[str, str]:
        """Parse stage that the views read -> checksum of its parser."""
        return self._reader.parsers

    @property
    def parses(self) -> bool:
        """Whether sentences are parsed."""
        return self._reader.parses

    def _batches(self, block: SentenceBlock, size: int) -> Iterator[SentenceBlock]:
        """Yields the sentences in batches of like length, so that few levels run half empty."""
        by_length = np.argsort(block.lengths, kind="stable")
        lengths = block.lengths[by_length]
        most_tokens = self._most_at_once[1]
        start = 0
        while start < len(by_length):
            limit = start + size
            # Sorted, so a batch's tokens are at most its size times its last length.
            tokens = lengths[start:limit] * np.arange(1, len(lengths[start:limit]) + 1)
            stop = start + max(1, int(np.searchsorted(tokens, most_tokens, side="right")))
            yield block.take(by_length[start:stop])
            start = stop


class WordsEncoder(ReadingEncoder):
    """Mean, maximum and minimum of a sentence's word vectors; unknown words are zero vectors.

    Its view is ``words``. Words have no last state, so their mean is given for it; asked for both,
    it gives that one array.
    """

    _most_at_once = SENTENCES_AT_ONCE, WORDS_AT_ONCE

    def __init__(self, vectors: WordVectors, settings: EncoderSettings | None = None) -> None:
        super().__init__(SentenceReader(vectors, {}), settings)

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


def read_side_by_side(
    encoders: Sequence[ReadingEncoder],
    sentences: Sequence[str],
    pooling: Sequence[Pooling],
    batch_size: int | None,
    on_progress: Progress | None,
) -> Iterator[dict[str, FloatArray]]:
    """Returns each encoder's views of the same sentences; arguments as of `encode_views`.

    They go through the sentences together, so that each piece is tokenized and parsed once for all
    that have the same parsers.

    Raises:
        ValueError: see `encode_views`.
    """
    check_pooling(pooling)
    tables = PieceInMemory() if len(encoders) > 1 else None
    pieces = [one.encoded_pieces(sentences, pooling, batch_size, tables) for one in encoders]
    arrays = [
        {key: np.zeros((len(sentences), w), np.float32) for key, w in one.widths(pooling).items()}
        for one in encoders
    ]
    refused: list[list[RefusedSentence]] = [[] for _ in encoders]
    for group in zip(*pieces, strict=True):
        for place, piece in enumerate(group):
            piece.put_into(arrays[place])
            refused[place] += piece.refused
        if tables is not None:
            tables.forget()
        if on_progress is not None:
            on_progress(min(1.0, (group[0].first + SENTENCES_AT_ONCE) / len(sentences)))
    for encoder, own in zip(encoders, refused, strict=True):
        encoder.refused = own
    return iter(arrays)


def fail_if_any(refusals: Sequence[RefusedSentence]) -> None:
    """Refuses sentences that cannot be taken.

    Raises:
        ValueError: there are some; names them, the reasons and the remedy.
    """
    if not refusals:
        return
    raise ValueError(
        f"{named(refusals)}; leave out what cannot be taken, or give on_refusal='zero' for a "
        "vector of zeros in its place"
    )
