"""Dependency parsing with supar's biaffine model: exact answers, most of them in bfloat16.

Only the weights are supar's. Its own prediction writes and re-reads CoNLL text, which breaks on
tabs, blank tokens and long repeats, inserts every unknown word into its vocabulary, scores all
relations of all arcs, and loses a whole batch to one bad sentence; in exact arithmetic the heads
and relations here are the same (``tree=True, proj=False``) without any of that. One difference is
meant: a token spelled like a special of supar's (``<bos>``) is an unknown word, not the special.

Where the processor multiplies bfloat16 faster, exact answers are first sought in it, and what is
near a tie is computed again. A parser decides by comparing scores. Reduced precision moves the
difference of two scores a little, so a decision is the same in exact arithmetic if its scores are
further apart than they can move: than `MULTIPLE` times what such differences moved by in samples,
at root mean square. A sample is taken anew of every large call, and parsed both ways: if a
difference in it moved by more than that, the whole call is computed in exact arithmetic.

A tree is certain where no tree that differs comes within the margin of it: all heads that are not
its own are given the margin on top, and it must still be the best. The relation of every arc must
lead the next one by the margin. Legend: B sentences, T positions (the artificial root + tokens), M
arcs, R relations.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.batched_parser import (
    BatchedParser,
    is_machine_error,
    is_memory_error,
)
from treeviews.pipeline.parsers.dependency_decoding import (
    best_heads,
    labelled_trees,
    single_root_maximum_spanning_tree,
    trees_of_states,
)
from treeviews.pipeline.parsers.dependency_forward import (
    arc_scores,
    encode,
    for_prediction,
    relation_scores,
    spelling_cache,
    with_encoder_in,
)
from treeviews.pipeline.parsers.dependency_model import (
    DependencyModel,
    DependencyVocabulary,
    Network,
    load_dependency_model,
    token_batch,
)
from treeviews.pipeline.parsers.devices import fast_dtype
from treeviews.pipeline.parsers.fast_layers import WordCache, length_batches
from treeviews.pipeline.parsers.sentence_parser import Sentence
from treeviews.pipeline.trees.flat_trees import DependencyParse

logger = logging.getLogger(__name__)

MULTIPLE = 6.0
"""Chosen on 11,200 sentences of thirteen kinds of text, where the widest gap that turned over was
less than 3 root mean squares; on 60,480 others one tree was different at 4, none at 5 and more."""
NEAR = 1.0
"""Scores further apart than this are not near a tie; they move more, but by far too little."""
LEAST_SENTENCES = 512
"""Of fewer in a call all are parsed exactly: there is too little to gain."""
_SAMPLE_SENTENCES = 16
"""Of each of two lengths."""
_LONG = 0.99
"""This share of the sentences is no longer than the longest of the sample."""
_LEAST_DECISIONS = 100


class Margin:
    """How far apart two scores must be to stand in the same order in exact arithmetic.

    It is computed from all calls, or from the last call alone if that gives a wider margin.
    """

    def __init__(self) -> None:
        """Knows nothing yet: no two scores are far enough apart."""
        self._all, self._last, self._largest = np.zeros(2), np.zeros(2), 0.0

    def begin_call(self) -> None:
        """Says that what is learnt from now on is of another call."""
        self._last, self._largest = np.zeros(2), 0.0

    def learn(self, gaps: Tensor, exact_gaps: Tensor) -> None:
        """Takes note of how far differences of scores moved.

        Args:
            gaps: float, any shape: of the best score over the next one, in reduced precision.
            exact_gaps: of the same two in exact arithmetic.
        """
        moves = (exact_gaps - gaps).abs()
        if not bool(moves.isfinite().all()):
            self._largest = math.inf
            return
        near = moves[gaps < NEAR]
        squares_and_count = np.array([float(near.square().sum()), near.numel()])
        self._all += squares_and_count
        self._last += squares_and_count
        self._largest = max([self._largest, *near.tolist()])

    @property
    def width(self) -> float:
        """The least gap that is safe; infinite while too few decisions were seen."""
        if self._all[1] < _LEAST_DECISIONS:
            return math.inf
        pairs = (self._all, self._last)
        return MULTIPLE * max(math.sqrt(squares / max(count, 1)) for squares, count in pairs)

    def holds(self, parser: str) -> bool:
        """Whether it is known, and no difference of the last call's sample moved further.

        Where one did, which a warning names, the call is exact throughout.
        """
        if self._largest > self.width or math.isinf(self._largest):
            logger.warning(
                "%s: in a sample, bfloat16 moved the difference of two scores by %.3g, and %.3g is "
                "thought safe; so these sentences are all parsed in float32, which takes longer",
                parser,
                self._largest,
                self.width,
            )
        return self._largest <= self.width < math.inf


def sample_of(sentences: Sequence[Sentence]) -> list[list[Sentence]]:
    """Returns a few sentences of middling length, and a few long ones.

    Few are longer than the longest of them. The order of the sentences does not matter. Those of
    a group are of like length, so that together they are a batch with little padding.
    """
    ordered = sorted(sentences, key=lambda sentence: (len(sentence), sentence))
    middle, long = len(ordered) // 2, max(_SAMPLE_SENTENCES, int(_LONG * len(ordered)))
    groups = ordered[middle : middle + _SAMPLE_SENTENCES], ordered[long - _SAMPLE_SENTENCES : long]
    return [list(group) for group in groups]


class CheckedPass:
    """Parses batches with a network whose encoder is reduced; knows what it is certain of."""

    def __init__(
        self,
        exact: Network,
        reduced: Network,
        vocabulary: DependencyVocabulary,
        spellings: WordCache,
    ) -> None:
        """Takes two networks that differ in the arithmetic of their encoders alone."""
        self._exact, self._reduced = exact, reduced
        self._vocabulary, self._spellings = vocabulary, spellings
        self.margin = Margin()

    def learn(self, sentences: Sequence[Sentence], *, batch_tokens: int) -> int:
        """Parses some of these sentences both ways, and so learns the margin.

        Returns:
            The length of the longest, in tokens: the margin is not known of longer ones.
        """
        self.margin.begin_call()
        longest = 0
        for group in sample_of(sentences):
            lengths = [len(sentence) for sentence in group]
            for members in length_batches(lengths, max_tokens=batch_tokens):
                self._compare([group[member] for member in members])
            longest = max([longest, *lengths])
        return longest

    def _compare(self, sentences: Sequence[Sentence]) -> None:
        batch = token_batch(sentences, self._vocabulary)
        spellings = self._spellings.vectors(batch.distinct_words)
        exact, reduced = (
            encode(network, batch, spellings).contiguous()
            for network in (self._exact, self._reduced)
        )
        tokens = batch.token_mask
        exact_arcs = arc_scores(self._exact, exact, batch.lengths)
        arcs = arc_scores(self._reduced, reduced, batch.lengths)
        self.margin.learn(*_gaps(arcs[tokens], exact_arcs[tokens]))
        heads = best_heads(exact_arcs, batch.lengths)
        self.margin.learn(
            *_gaps(
                relation_scores(self._reduced, reduced, heads, tokens),
                relation_scores(self._exact, exact, heads, tokens),
            )
        )

    def __call__(self, sentences: Sequence[Sentence]) -> list[DependencyParse | None]:
        """Returns the tree of each sentence, or None where it is not certain.

        Raises:
            FloatingPointError: a score is not a number.
        """
        batch = token_batch(sentences, self._vocabulary)
        states_BTD = encode(
            self._reduced, batch, self._spellings.vectors(batch.distinct_words)
        ).contiguous()
        scores = arc_scores(self._reduced, states_BTD, batch.lengths)
        heads_BT = best_heads(scores, batch.lengths)
        certain = certain_trees(scores, heads_BT, batch.lengths, self.margin.width).nonzero()[:, 0]
        answers: list[DependencyParse | None] = [None] * len(sentences)
        if len(certain):
            heads_BT, lengths_B = heads_BT[certain], batch.lengths[certain]
            relations = relation_scores(
                self._reduced, states_BTD[certain], heads_BT, batch.token_mask[certain]
            )
            trees = labelled_trees(heads_BT, lengths_B, relations, self._vocabulary.relations)
            first, second = relations.topk(2, -1).values.unbind(-1)
            leads = (first - second).split((lengths_B - 1).tolist())
            for place, tree, lead in zip(certain.tolist(), trees, leads, strict=True):
                if bool((lead > self.margin.width).all()):
                    answers[place] = tree
        return answers


def certain_trees(scores_BTT: Tensor, heads_BT: Tensor, lengths_B: Tensor, margin: float) -> Tensor:
    """Returns bool ``[B]``: of which sentences no other tree comes within the margin of the best.

    Args:
        scores_BTT: of each ``[sentence, dependent, head]``, on the CPU.
        heads_BT: of each sentence's best tree, see `best_heads`.
        lengths_B: int64; tokens + 1.
        margin: what the score of an arc may gain on that of the tree's arc; of an infinite one
            nothing is certain.
    """
    if not math.isfinite(margin):
        return torch.zeros(len(heads_BT), dtype=torch.bool)
    positions = torch.arange(heads_BT.shape[1])
    beside = (positions == 0) | (positions >= lengths_B[:, None])
    best = scores_BTT.topk(2, -1)
    leads = best.values[..., 0] - best.values[..., 1] > margin
    is_greedy = ((best.indices[..., 0] == heads_BT) | beside).all(1)
    certain = is_greedy & (leads | beside).all(1)
    # Where the best heads of all tokens are no tree, the best tree has others: it is sought again.
    for row in (~is_greedy).nonzero()[:, 0].tolist():
        length = int(lengths_B[row])
        heads = heads_BT[row, :length].numpy()
        raised = scores_BTT[row, :length, :length].double().numpy() + margin
        raised[np.arange(length), heads] -= margin
        certain[row] = single_root_maximum_spanning_tree(raised) == heads.tolist()
    return certain


def _gaps(scores: Tensor, exact_scores: Tensor) -> tuple[Tensor, Tensor]:
    """Returns ``[M]`` twice: of the best score over the next, and of the same two if exact."""
    best = scores.topk(2, -1)
    exact = exact_scores.gather(-1, best.indices)
    return best.values[:, 0] - best.values[:, 1], exact[:, 0] - exact[:, 1]


_CACHED_WORDS = 100_000
"""Distinct words whose spelling features are kept; 40 MB at the bundled parser's 100 features."""


class SuparDependencyParser(BatchedParser[DependencyParse]):
    """A ``SentenceParser[DependencyParse]`` over a biaffine dependency model."""

    default_batch_tokens = 2000
    """Padded size, the artificial root of each sentence included: enough for full speed, few enough
    for a core's cache."""

    load_model = staticmethod(partial(load_dependency_model, bare=True))

    checked: CheckedPass | None
    """Answers what reduced precision is certain of; None: all is computed in one arithmetic."""

    def _take(self, model: DependencyModel) -> None:
        self.network = for_prediction(model.network, self._dtype)
        self._vocabulary = model.description.vocabulary
        self.relations = self._vocabulary.relations
        self._spellings = spelling_cache(self.network, self._vocabulary, capacity=_CACHED_WORDS)
        reduced = fast_dtype(self._device)
        may_gain = self._device.type == "cpu" and reduced != self._dtype == torch.float32
        self.checked = None
        if may_gain and len(self.relations) > 1:
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

    def _certain_answers(
        self, sentences: Sequence[Sentence], sizes: Mapping[int, int]
    ) -> dict[int, DependencyParse]:
        """Returns the trees that reduced precision is certain of.

        Where it fails, which the log tells, the exact way finds out whose fault it is.

        Raises:
            RuntimeError: a device failed.
        """
        certain: dict[int, DependencyParse] = {}
        if self.checked is None or len(sizes) < LEAST_SENTENCES:
            return certain
        try:
            longest = self.checked.learn(
                [sentences[position] for position in sizes], batch_tokens=self._batch_tokens
            )
            if not self.checked.margin.holds(self.name):
                return certain
            known = {position: size for position, size in sizes.items() if size <= longest}
            for members in self._batches(known, max_tokens=self._batch_tokens):
                trees = self.checked([sentences[position] for position in members])
                pairs = zip(members, trees, strict=True)
                certain.update((position, tree) for position, tree in pairs if tree is not None)
        except Exception as error:
            if is_machine_error(error) and not is_memory_error(error):
                raise
            logger.warning(
                "%s: reduced precision failed; what is left of %d sentences is parsed in %s",
                self.name,
                len(sizes),
                self.precision,
                exc_info=error,
            )
        return certain
