"""Parses sentences with supar's biaffine dependency model: the cheap way.

Only the network is supar's. Its own prediction writes and re-reads CoNLL text, which breaks on
tabs, blank tokens and long repeats, inserts every unknown word into its vocabulary, scores all
relations of all arcs, and loses a whole batch to one bad sentence; in exact arithmetic the heads
and relations here are the same (``tree=True, proj=False``) without any of that. One difference is
meant: a token spelled like a special of supar's (``<bos>``) is an unknown word, not the special.

Where the processor multiplies bfloat16 faster, exact answers are first sought in it, and what is
near a tie is computed again (`CheckedPass`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from pipeline.base.refusal import Refusal
from pipeline.parsers.adapters.adapter import BatchedParser
from pipeline.parsers.adapters.base import Sentence
from pipeline.parsers.adapters.checked import LEAST_SENTENCES
from pipeline.parsers.adapters.device import fast_dtype
from pipeline.parsers.dependency.checked_pass import CheckedPass
from pipeline.parsers.dependency.decoding import trees_of_states
from pipeline.parsers.dependency.forward import (
    encode,
    for_prediction,
    spelling_cache,
    with_encoder_in,
)
from pipeline.parsers.dependency.model import DependencyModel, load_dependency_model
from pipeline.parsers.dependency.vocabulary import token_batch
from pipeline.trees.parses import DependencyParse

_CACHED_WORDS = 100_000
"""Distinct words whose spelling features are kept; 40 MB at the bundled parser's 100 features."""


class SuparDependencyParser(BatchedParser[DependencyModel, DependencyParse]):
    """A ``SentenceParser[DependencyParse]`` over a biaffine dependency model."""

    default_batch_tokens = 2000
    """Padded size, the artificial root of each sentence included: enough for full speed, few enough
    for a core's cache."""

    _load_model = staticmethod(partial(load_dependency_model, bare=True))

    checked: CheckedPass | None
    """Answers what reduced precision is certain of; None: all is computed in one arithmetic."""

    def _take(self, model: DependencyModel) -> None:
        for name, limit in (("max_tokens", self._max_tokens), ("batch_tokens", self._batch_tokens)):
            if not 1 <= limit < _CACHED_WORDS:
                raise ValueError(f"{name} must lie in [1, {_CACHED_WORDS}), got {limit}")
        self.network = for_prediction(model.network, self._dtype)
        self._vocabulary, self.relations = model.vocabulary, model.vocabulary.relations
        self._spellings = spelling_cache(self.network, self._vocabulary, capacity=_CACHED_WORDS)
        reduced = fast_dtype(self._device)
        may_gain = self._device.type == "cpu" and reduced != self._dtype == torch.float32
        self.checked = None
        if may_gain and len(self._vocabulary.relations) > 1:
            network = with_encoder_in(self.network, reduced)
            self.checked = CheckedPass(self.network, network, self._vocabulary, self._spellings)

    def _sizes(self, sentences: Sequence[Sentence]) -> list[int | Refusal]:
        # All at once: words are read in arrays of a fixed size, of which few are then half empty.
        tokens = (token for sentence in sentences for token in sentence)
        self._spellings.remember(token for token in tokens if isinstance(token, str))
        return [len(sentence) for sentence in sentences]

    def states(self, sentences: Sequence[Sentence]) -> tuple[Tensor, Tensor]:
        """Returns contextual states, float32 ``[B, T, D]``, and the sentences' lengths ``[B]``."""
        batch = token_batch(sentences, self._vocabulary, device=self._device)
        spellings = self._spellings.vectors(batch.distinct_words)
        return encode(self.network, batch, spellings), batch.lengths

    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[DependencyParse]:
        return trees_of_states(self.network, *self.states(sentences), self.relations)

    def _cheaper_way(
        self, sentences: Sequence[Sentence]
    ) -> tuple[Callable[[Sequence[Sentence]], list[DependencyParse | None]], int] | None:
        if self.checked is None or len(sentences) < LEAST_SENTENCES:
            return None
        longest = self.checked.learn(sentences, batch_tokens=self._batch_tokens)
        self.checked.margin.tell_whether_it_holds(self.name)
        return (self.checked, longest) if self.checked.margin.holds else None
