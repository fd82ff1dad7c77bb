"""Parses sentences with supar's biaffine dependency model: the cheap way.

Only the network is supar's. Its own prediction writes and re-reads CoNLL text, which breaks on
tabs, blank tokens and long repeats, inserts every unknown word into its vocabulary, scores all
relations of all arcs, and loses a whole batch to one bad sentence; in exact arithmetic the heads
and relations here are the same (``tree=True, proj=False``) without any of that. One difference is
meant: a token spelled like a special of supar's (``<bos>``) is an unknown word, not the special.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pipeline.base.refusal import Refusal
from pipeline.parsers.adapters.adapter import BatchedParser
from pipeline.parsers.adapters.base import Sentence
from pipeline.parsers.dependency.decoding import trees_of_states
from pipeline.parsers.dependency.forward import encode, for_prediction, spelling_cache
from pipeline.parsers.dependency.model import DependencyModel, load_dependency_model
from pipeline.parsers.dependency.vocabulary import token_batch
from pipeline.trees.parses import DependencyParse

_CACHED_WORDS = 100_000
"""Distinct words whose spelling features are kept; 40 MB at the bundled parser's 100 features."""


class SuparDependencyParser(BatchedParser[DependencyModel, DependencyParse]):
    """A ``SentenceParser[DependencyParse]`` over a biaffine dependency model."""

    default_batch_tokens = 3000
    """Padded size, the artificial root of each sentence included."""

    _load_model = staticmethod(partial(load_dependency_model, bare=True))

    def _take(self, model: DependencyModel) -> None:
        for name, limit in (("max_tokens", self._max_tokens), ("batch_tokens", self._batch_tokens)):
            if not 1 <= limit < _CACHED_WORDS:
                raise ValueError(f"{name} must lie in [1, {_CACHED_WORDS}), got {limit}")
        self._network = for_prediction(model.network, self._dtype)
        self._vocabulary = model.vocabulary
        self._spellings = spelling_cache(self._network, self._vocabulary, capacity=_CACHED_WORDS)

    def _sizes(self, sentences: Sequence[Sentence]) -> list[int | Refusal]:
        # All at once: words are read in arrays of a fixed size, of which few are then half empty.
        tokens = (token for sentence in sentences for token in sentence)
        self._spellings.remember(token for token in tokens if isinstance(token, str))
        return [len(sentence) for sentence in sentences]

    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[DependencyParse]:
        batch = token_batch(sentences, self._vocabulary, device=self._device)
        spellings = self._spellings.vectors(batch.distinct_words)
        states = encode(self._network, batch, spellings)
        return trees_of_states(self._network, states, batch.lengths, self._vocabulary.relations)
