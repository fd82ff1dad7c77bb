"""Treebank sentences as tensors for training the chart model, in batches of like length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pipeline.parser_training.epochs.alterations import alter, constituents_without_final_mark
from pipeline.parsers.chart_model import (
    RESERVED_CHARACTERS,
    START_ROW,
    STOP_ROW,
    ChartVocabularies,
    WordTable,
    from_benepar_label,
    to_benepar_label,
    word_table,
)
from pipeline.trees.treebanks import BracketedSentence

IGNORED_TAG = -100
"""What cross entropy leaves out: sentence marks and padding."""


@dataclass(frozen=True, slots=True)
class SpanIndex:
    """S spans of a batch, sorted by sentence; each ``[S]`` int64."""

    sentences: Tensor
    starts: Tensor
    ends: Tensor
    """Exclusive."""


@dataclass(frozen=True, slots=True)
class ChartBatch:
    """B sentences of like length; T positions with the sentence marks, S gold spans."""

    words: WordTable
    """The batch's distinct words."""
    rows: Tensor
    """``[B, T]`` int64: each position's row in ``words``."""
    mask: Tensor
    """``[B, T]`` bool: False where a position is padding."""
    lengths: Tensor
    """``[B]`` int64, numbers of tokens."""
    gold: SpanIndex
    gold_labels: Tensor
    """``[S]`` int64, at least 1."""
    tags: Tensor
    """``[B, T]`` int64, ``IGNORED_TAG`` where there is none."""


@dataclass(frozen=True, slots=True)
class _Example:
    rows: list[int]
    starts: list[int]
    ends: list[int]
    labels: list[int]
    tags: list[int]


def build_vocabularies(
    sentences: Sequence[BracketedSentence], *, min_character_count: int
) -> ChartVocabularies:
    """Returns the vocabularies of a training set, sorted so that they do not depend on order.

    Args:
        sentences: the training set.
        min_character_count: rarer characters count as unknown, which trains the unknown one.

    Differs from benepar, which takes every character of the training set and so leaves the
    unknown character's embedding at its random start.
    """
    counts = Counter(character for s in sentences for token in s.tokens for character in token)
    frequent = {c for c, count in counts.items() if count >= min_character_count}
    labels = {to_benepar_label(label) for s in sentences for label in s.parse.labels}
    return ChartVocabularies(
        characters=(*RESERVED_CHARACTERS, *sorted(frequent - set(RESERVED_CHARACTERS))),
        labels=("", *sorted(labels)),
        tags=tuple(sorted({tag for s in sentences for tag in s.parse.tags})),
    )


class ExampleSet:
    """A training set whose words are spelled once; batches are drawn from it by seed."""

    def __init__(
        self,
        sentences: Sequence[BracketedSentence],
        vocabularies: ChartVocabularies,
        *,
        altered_share: float = 0.0,
    ) -> None:
        """Takes the sentences.

        Args:
            altered_share: see `ParserTrainingConfig`.
        """
        known = {token for sentence in sentences for token in sentence.tokens}
        if altered_share:
            known |= {token.lower() for token in known}
        words = sorted(known)
        characters = {c: i for i, c in enumerate(vocabularies.characters)}
        self._table = word_table(words, characters)
        self._row_of = {word: row for row, word in enumerate(words, start=2)}
        self._label_ids = {label: i for i, label in enumerate(vocabularies.labels)}
        self._tag_ids = {tag: i for i, tag in enumerate(vocabularies.tags)}
        self._sentences = sentences
        self._labels = {from_benepar_label(label) for label in vocabularies.labels[1:]}
        self._altered_share = altered_share
        self._examples = [self._encode(sentence) for sentence in sentences]

    def __len__(self) -> int:
        """Returns the number of sentences."""
        return len(self._examples)

    def batches(self, batch_tokens: int, *, seed: int) -> Iterator[ChartBatch]:
        """Yields every sentence once, in batches of like length and about ``batch_tokens`` tokens.

        Args:
            batch_tokens: a batch's tokens, padding included; one longer sentence stands alone.
            seed: determines which sentences meet, the order of the batches and what is altered.
        """
        generator = torch.Generator().manual_seed(seed)
        shuffled = torch.randperm(len(self._examples), generator=generator).tolist()
        sizes = [len(example.tags) for example in self._examples]
        shuffled.sort(key=sizes.__getitem__)
        groups: list[list[int]] = []
        for index in shuffled:
            padded = sizes[index] * (len(groups[-1]) + 1 if groups else 1)
            if not groups or padded > batch_tokens:
                groups.append([])
            groups[-1].append(index)
        random = np.random.default_rng(seed)
        for which in torch.randperm(len(groups), generator=generator).tolist():
            yield self._collate([self._drawn(index, random) for index in groups[which]])

    def _drawn(self, index: int, random: np.random.Generator) -> _Example:
        sentence = self._sentences[index]
        drawn = alter(
            sentence,
            self._altered_share,
            random,
            lambda whole: constituents_without_final_mark(whole, self._labels),
        )
        return self._examples[index] if drawn is sentence else self._encode(drawn)

    def _encode(self, sentence: BracketedSentence) -> _Example:
        parse = sentence.parse
        return _Example(
            rows=[START_ROW, *(self._row_of[token] for token in sentence.tokens), STOP_ROW],
            starts=parse.starts,
            ends=parse.ends,
            labels=[self._label_ids[to_benepar_label(label)] for label in parse.labels],
            tags=[self._tag_ids[tag] for tag in parse.tags],
        )

    def _collate(self, examples: Sequence[_Example]) -> ChartBatch:
        num_positions = max(len(example.rows) for example in examples)
        rows = torch.zeros(len(examples), num_positions, dtype=torch.int64)
        mask = torch.zeros(len(examples), num_positions, dtype=torch.bool)
        tags = torch.full((len(examples), num_positions), IGNORED_TAG)
        for b, example in enumerate(examples):
            rows[b, : len(example.rows)] = torch.tensor(example.rows)
            mask[b, : len(example.rows)] = True
            tags[b, 1 : len(example.tags) + 1] = torch.tensor(example.tags)
        used, local_rows = rows.unique(return_inverse=True)
        lengths = self._table.lengths[used]
        spans = torch.tensor(
            [
                (b, *span)
                for b, example in enumerate(examples)
                for span in zip(example.starts, example.ends, example.labels, strict=True)
            ]
        )
        return ChartBatch(
            words=WordTable(self._table.char_ids[used, : int(lengths.max())], lengths),
            rows=local_rows,
            mask=mask,
            lengths=mask.sum(1) - 2,
            gold=SpanIndex(spans[:, 0], spans[:, 1], spans[:, 2]),
            gold_labels=spans[:, 3],
            tags=tags,
        )
