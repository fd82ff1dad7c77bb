"""The character LSTM's vectors of words, read once for each distinct word and kept.

Legend: Y words, C characters of the longest one, D d_model.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from benepar.char_lstm import CharacterLSTM
from benepar.parse_chart import ChartParser
from torch import Tensor

from pipeline.parsers.adapters.fused_lstm import last_states
from pipeline.parsers.adapters.word_cache import WORDS_AT_ONCE, WordCache
from pipeline.parsers.constituency.chart_model import START_ROW, STOP_ROW, WordTable, word_table

MAX_WORD_CHARACTERS = 256
"""The model reads no further into a word, so that a giant token costs no more than a long one."""

CACHED_WORDS = 50_000
"""Distinct words whose vectors are kept; 32 MB at the bundled parser's 160 features."""

_WIDTHS = (5, 8, 12, 24, 64, MAX_WORD_CHARACTERS)
"""Words of up to so many characters are read together: most are far shorter than the longest."""
_MARKS = 2
"""Characters that stand before and after a word's own."""


class WordVectors:
    """Reads the words of sentences, each distinct word once, and sets the sentence marks."""

    def __init__(self, module: ChartParser, *, capacity: int = CACHED_WORDS) -> None:
        """Starts with no word.

        Args:
            module: a chart parser with a character LSTM.
            capacity: distinct words that are kept.
        """
        self._encoder: CharacterLSTM = module.char_encoder
        self._characters = module.char_vocab
        self._device = module.device
        with torch.inference_mode():
            self._marks = self._read_with_marks([""] * WORDS_AT_ONCE, _WIDTHS[0])[:2]
            table = torch.zeros_like(self._marks[:1]).repeat(capacity, 1)
        self._cache = WordCache(
            lambda words, width: self._read_with_marks(words, width)[2:],
            table=table,
            widths=_WIDTHS,
        )

    def remember(self, sentences: Sequence[Sequence[str]]) -> None:
        """Reads words ahead: many at once cost less than the few new ones of a batch."""
        self._cache.remember(token for sentence in sentences for token in sentence)

    def content(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Returns the vectors of all positions, ``[P, D / 2]``, sentence after sentence.

        Each sentence stands between its marks.
        """
        words = [token for sentence in sentences for token in sentence]
        num_positions = torch.tensor([len(sentence) + 2 for sentence in sentences])
        stops = num_positions.cumsum(0) - 1
        starts = stops - num_positions + 1
        is_word = torch.ones(len(words) + 2 * len(sentences), dtype=torch.bool)
        is_word[starts] = False
        is_word[stops] = False
        content = self._marks.new_empty(len(is_word), self._marks.shape[1])
        places = is_word.nonzero()[:, 0].to(self._device)
        content.index_copy_(0, places, self._cache.vectors(words))
        content[starts.to(self._device)] = self._marks[START_ROW]
        content[stops.to(self._device)] = self._marks[STOP_ROW]
        return content

    def _read_with_marks(self, words: list[str], width: int) -> Tensor:
        """Returns ``[2 + Y, D / 2]``, sentence marks first; shapes depend on width alone."""
        table = word_table(words, self._characters)
        missing = width + _MARKS - table.char_ids.shape[1]
        char_ids = torch.nn.functional.pad(table.char_ids, (0, missing))
        return read_table(
            self._encoder, WordTable(char_ids.to(self._device), table.lengths.to(self._device))
        )


def read_table(encoder: CharacterLSTM, table: WordTable) -> Tensor:
    """Returns ``[Y, D / 2]``, with gradients and dropout where the encoder is in training."""
    inputs_CYD = encoder.char_dropout(encoder.emb(table.char_ids.T))
    return last_states(encoder.lstm, inputs_CYD, table.lengths)
