"""Words of raw sentences, looked up without a list of tokens in between.

Arrow cuts sentences at their spaces, and of some thousand sentences each distinct chunk is asked
for once. The ids of its tokens are remembered. Tokens are those of `EnglishTokenizer`, ids those of
`WordVectors.token_ids`.

Legend: N sentences, T their tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from models.corpus.sentence_block import gather_ranges
from models.words.word_vectors import UNKNOWN_ID, WordVectors
from pipeline.text.chunks import MAX_CHARACTERS, MAX_KNOWN
from pipeline.text.tokenization import EnglishTokenizer

Ids = NDArray[np.int32]
Offsets = NDArray[np.int64]

_UNSURE = 0
"""Place of chunks without ids: the tokens of their sentences are known as a whole alone."""
_NEW = -1


class ChunkReader:
    """Looks up the words of sentences; remembers chunks, in bounded memory."""

    def __init__(self, vectors: WordVectors, tokenizer: EnglishTokenizer) -> None:
        self._tokenizer = tokenizer
        last_first = zip(reversed(vectors.words), reversed(range(len(vectors.words))), strict=True)
        self._id_of_word = dict(last_first)  # of a word that stands twice the first one counts
        self._forget()

    def _forget(self) -> None:
        self._places = {"": _UNSURE}
        self._characters = 0
        self._ids: Ids = np.zeros(0, dtype=np.int32)
        self._offsets: Offsets = np.zeros(2, dtype=np.int64)
        """The chunk at place p has the ids ``offsets[p]:offsets[p + 1]``."""

    def read(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """Returns the ids of all tokens, int32 [T], and the offsets of sentences, int64 [N + 1].

        Args:
            texts: clean, so that single spaces are their only white space.
        """
        pieces = pc.split_pattern(pa.array(texts, pa.large_string()), " ")
        encoded = pieces.values.dictionary_encode()
        starts = pieces.offsets.to_numpy()
        places = self._find(encoded.dictionary.to_pylist())[encoded.indices.to_numpy()]
        positions, chunk_offsets = gather_ranges(self._offsets, places)
        ids, offsets = self._ids[positions], chunk_offsets[starts]
        unsure = np.searchsorted(starts, np.flatnonzero(places == _UNSURE), side="right") - 1
        if not len(unsure):
            return ids, offsets
        return self._read_whole(texts, np.unique(unsure), ids, offsets)

    def _find(self, chunks: Sequence[str]) -> NDArray[np.int64]:
        """Returns the place of each chunk; new ones are given one."""
        if len(self._places) > MAX_KNOWN or self._characters > MAX_CHARACTERS:
            self._forget()
        found = map(self._places.get, chunks, repeat(_NEW))
        places = np.fromiter(found, dtype=np.int64, count=len(chunks))
        new = np.flatnonzero(places == _NEW)
        if len(new):
            places[new] = self._learn([chunks[place] for place in new.tolist()])
        return places

    def _learn(self, chunks: Sequence[str]) -> list[int]:
        """Returns the places of new chunks."""
        cut = self._tokenizer.cut(chunks)
        words = list(chain.from_iterable(tokens.words for tokens in cut if tokens.stands))
        lengths = [len(tokens.words) for tokens in cut if tokens.stands]
        free = iter(range(len(self._offsets) - 1, len(self._offsets) - 1 + len(lengths)))
        places = [next(free) if tokens.stands else _UNSURE for tokens in cut]
        self._ids = np.concatenate([self._ids, self._look_up(words)])
        ends = self._offsets[-1] + np.cumsum(lengths, dtype=np.int64)
        self._offsets = np.concatenate([self._offsets, ends])
        self._places.update(zip(chunks, places, strict=True))
        self._characters += sum(map(len, chunks))
        return places

    def _look_up(self, words: Sequence[str]) -> Ids:
        """Returns the ids of words as they stand, else lower-cased, else that of the unknown."""
        found = list(map(self._id_of_word.get, words))
        missed = [place for place, word_id in enumerate(found) if word_id is None]
        lower = pc.utf8_lower(pa.array([words[place] for place in missed], pa.string()))
        for place, word in zip(missed, lower.to_pylist(), strict=True):
            found[place] = self._id_of_word.get(word, UNKNOWN_ID)
        return np.array(found, dtype=np.int32)

    def _read_whole(
        self, texts: Sequence[str], rows: Offsets, ids: Ids, offsets: Offsets
    ) -> tuple[Ids, Offsets]:
        """Returns ids and offsets with those of some sentences exchanged for what is right."""
        tokenized = self._tokenizer.tokenize([texts[row] for row in rows])
        more = [self._look_up(tokens.words) for tokens in tokenized]
        ends = offsets[-1] + np.cumsum([len(of_row) for of_row in more], dtype=np.int64)
        order = np.arange(len(texts))
        order[rows] = len(texts) + np.arange(len(rows))
        positions, new_offsets = gather_ranges(np.concatenate([offsets, ends]), order)
        return np.concatenate([ids, *more])[positions], new_offsets
