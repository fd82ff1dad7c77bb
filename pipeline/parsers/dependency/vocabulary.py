"""Words, characters and relations as numbers: frozen vocabularies, and sentences as index arrays.

Legend: B sentences, T positions (the artificial root + tokens).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from pipeline.trees.treebanks import TreebankSentence

PAD, UNKNOWN, ROOT = "<pad>", "<unk>", "<bos>"
"""supar's special entries; ``ROOT`` stands at position 0 of every sentence."""
SPECIALS = [PAD, UNKNOWN, ROOT]

ROOT_WORD = ""
"""Stands for the artificial root among tokens, of which none is empty."""


@dataclass(frozen=True)
class DependencyVocabulary:
    """Index of every known word, character and relation; looking up never adds an entry."""

    words: list[str]
    """Lower-cased, the specials included; the index is the row of the embedding matrix."""
    characters: list[str]
    """The specials included."""
    relations: list[str]
    max_word_characters: int = 20
    """Further characters of a word are not seen."""
    _word_ids: dict[str, int] = field(init=False, repr=False, compare=False)
    _character_ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, entries in (("words", self.words), ("characters", self.characters)):
            missing = [special for special in SPECIALS if special not in entries]
            if missing:
                raise ValueError(f"vocabulary {name} lacks {', '.join(missing)}")
        if self.max_word_characters < 1:
            raise ValueError(f"max_word_characters must be >= 1, got {self.max_word_characters}")
        object.__setattr__(self, "_word_ids", {word: i for i, word in enumerate(self.words)})
        ids = {character: i for i, character in enumerate(self.characters)}
        object.__setattr__(self, "_character_ids", ids)

    @classmethod
    def build(
        cls, sentences: Sequence[TreebankSentence], *, min_word_frequency: int
    ) -> DependencyVocabulary:
        """Returns the vocabulary of a training treebank, frequent entries first."""
        words = Counter(token.lower() for s in sentences for token in s.tokens)
        characters = Counter(character for s in sentences for t in s.tokens for character in t)
        relations = Counter(relation for s in sentences for relation in s.deprels)
        return cls(
            words=SPECIALS + _by_frequency(words, min_word_frequency, without=SPECIALS),
            characters=SPECIALS + _by_frequency(characters, 1),
            relations=_by_frequency(relations, 1),
        )

    def extended(self, words: Sequence[str]) -> DependencyVocabulary:
        """Returns this vocabulary with the lower-cased words it lacks behind its own."""
        known = set(self.words)
        return replace(self, words=self.words + [word for word in words if word not in known])

    @property
    def word_pad_id(self) -> int:
        """Row of the padding entry among the words."""
        return self._word_ids[PAD]

    @property
    def character_pad_id(self) -> int:
        """Row of the padding entry among the characters."""
        return self._character_ids[PAD]

    @property
    def unknown_word_id(self) -> int:
        """Row that all unknown words share."""
        return self._word_ids[UNKNOWN]

    def word_id(self, word: str) -> int:
        """Returns the row of a lower-cased word; a token spelled like a special is unknown."""
        if word == ROOT_WORD:
            return self._word_ids[ROOT]
        lowered = word.lower()
        if lowered in SPECIALS:
            return self.unknown_word_id
        return self._word_ids.get(lowered, self.unknown_word_id)

    def character_ids(self, word: str) -> list[int]:
        """Returns the rows of a word's first characters, case kept; the root is one special."""
        if word == ROOT_WORD:
            return [self._character_ids[ROOT]]
        unknown = self._character_ids[UNKNOWN]
        return [self._character_ids.get(c, unknown) for c in word[: self.max_word_characters]]


def _by_frequency(
    counts: Counter[str], min_frequency: int, *, without: Sequence[str] = ()
) -> list[str]:
    kept = [entry for entry, n in counts.items() if n >= min_frequency and entry not in without]
    return sorted(kept, key=lambda entry: (-counts[entry], entry))


@dataclass(frozen=True)
class TokenBatch:
    """Index tensors of B sentences, padded at the end, on one device."""

    words: Tensor
    """``[B, T]`` int64; rows of the word embedding."""
    spellings: Tensor
    """``[B, T]`` int64; position of each word in ``distinct_words``; 0 at the root."""
    lengths: Tensor
    """``[B]`` int64; tokens + 1."""
    distinct_words: list[str]
    """Surface forms, each once."""

    @property
    def token_mask(self) -> Tensor:
        """Returns bool ``[B, T]``: true for real tokens, false for the root and padding."""
        positions = torch.arange(self.words.shape[1], device=self.words.device)
        return (positions > 0) & (positions < self.lengths[:, None])


def token_batch(
    sentences: Sequence[Sequence[str]],
    vocabulary: DependencyVocabulary,
    *,
    device: torch.device | None = None,
) -> TokenBatch:
    """Returns the index tensors of some sentences; the vocabulary stays as it is.

    Args:
        sentences: at least one; no token is empty.
    """
    lengths = np.array([len(tokens) + 1 for tokens in sentences])
    words = np.full((len(sentences), int(lengths.max())), vocabulary.word_pad_id)
    spellings = np.zeros_like(words)
    numbers = {ROOT_WORD: 0}
    word_ids = [vocabulary.word_id(ROOT_WORD)]
    for row, tokens in enumerate(sentences):
        for token in tokens:
            if token not in numbers:
                numbers[token] = len(word_ids)
                word_ids.append(vocabulary.word_id(token))
        here = [0, *(numbers[token] for token in tokens)]
        spellings[row, : len(here)] = here
        words[row, : len(here)] = [word_ids[number] for number in here]
    arrays = (words, spellings, lengths)
    words_BT, spellings_BT, lengths_B = (torch.from_numpy(a).to(device) for a in arrays)
    return TokenBatch(words_BT, spellings_BT, lengths_B, list(numbers))
