"""Constituency parsing with benepar's chart model: batches without padding, trees in flat form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import torch

from pipeline.base.refusal import Refusal
from pipeline.parsers.adapters.adapter import BatchedParser
from pipeline.parsers.adapters.base import Sentence
from pipeline.parsers.adapters.batches import unpadded_batches
from pipeline.parsers.constituency.decoding import SpanScorer, trees_of_fenceposts
from pipeline.parsers.constituency.forward import PackedTransformer, WordVectors, equal_runs
from pipeline.parsers.constituency.model import (
    ConstituencyModel,
    from_benepar_label,
    load_constituency_model,
)
from pipeline.trees.parses import ConstituencyParse

_MARKS = 2
"""Positions of the sentence marks."""


class BeneparConstituencyParser(BatchedParser[ConstituencyModel, ConstituencyParse]):
    """A loaded chart model as a ``SentenceParser[ConstituencyParse]``.

    The model reads the raw characters of each token, as ``benepar.Parser`` does for given words:
    ``(`` is ``(`` here and ``-LRB-`` only where a tree is written as brackets.

    Differs from benepar in that reserved characters (``\\0`` to ``\\4``) count as unknown ones,
    that a word counts by its first 256 characters, and that the sentences of a call are sorted by
    length, so an answer may depend on its batch by float32 rounding alone.
    """

    default_batch_tokens = 2_000
    """Sentence marks included: enough for full speed, few enough for a core's cache."""

    _load_model = staticmethod(partial(load_constituency_model, bare=True))

    def _position_limit(self, model: ConstituencyModel) -> int:
        return model.config.max_length - _MARKS

    def _take(self, model: ConstituencyModel) -> None:
        self._labels = [from_benepar_label(label) for label in model.vocabularies.labels]
        self._tags = model.vocabularies.tags
        self._words = WordVectors(model.network)
        self._encoder = PackedTransformer(model.network, dtype=self._dtype)
        self._tagger = model.network.f_tag
        self._scorer = SpanScorer(model.network)

    def _sizes(self, sentences: Sequence[Sentence]) -> list[int | Refusal]:
        self._words.remember(sentences)
        return [len(sentence) + _MARKS for sentence in sentences]

    def _batches(self, sizes: Sequence[int], *, max_tokens: int) -> Iterable[list[int]]:
        return unpadded_batches(sizes, max_tokens=max_tokens)

    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[ConstituencyParse]:
        runs = list(equal_runs([len(sentence) + _MARKS for sentence in sentences]))
        states_PD = self._encoder(self._words.content(sentences), runs)
        best_tags = self._tagger(states_PD).argmax(-1).tolist()
        half = states_PD.shape[-1] // 2
        fenceposts, tags = [], []
        for run in runs:
            states = states_PD[run.positions].unflatten(0, (run.num_sentences, -1))
            fenceposts.append(torch.cat([states[:, :-1, :half], states[:, 1:, half:]], -1))
        first = 1
        for sentence in sentences:
            of_tokens = best_tags[first : first + len(sentence)]
            tags.append([self._tags[tag] for tag in of_tokens])
            first += len(sentence) + _MARKS
        return trees_of_fenceposts(self._scorer, fenceposts, tags, self._labels)
