"""The order in which a recurrent network reads a batch: all first words, all second words, …

The state after a sentence's first word depends on that word alone, and in text few words begin
sentences and fewer end them, so those states and their product with the weights are computed once
a word type. On batches of 512 sentences of documentation, in both directions, that leaves 95 % of
the products with the state; sharing longer beginnings, too, would leave 92 %, by a gather a step.

Legend: B sentences, N tokens, L longest sentence, F distinct first words, R rows: F for the first
step and a row a token for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from torch import Tensor

from treeviews.models.encoders.index_arrays import IndexArray, distinct_words, to_tensor


@dataclass(frozen=True, slots=True)
class Reading:
    """A batch as one direction reads it, packed without padding step by step."""

    words: Tensor
    """[R] int64; word type of each row."""
    num_first: int
    """F; the first rows are the distinct first words."""
    first_rows: Tensor
    """[B] int64; row of each sentence's first word, longest sentence first."""
    previous_rows: Tensor
    """[·] int64; row of the word before, for each row of the third and later steps."""
    last_rows: Tensor
    """[B] int64; row of each sentence's last word, in the order of the batch."""
    row_of_token: Tensor
    """[N] int64; row of each flat token."""


@dataclass(frozen=True, slots=True)
class SequenceSchedule:
    """A batch in both directions, sentences longest first."""

    onward: Reading
    """From the first word to the last."""
    backward: Reading
    """From the last word to the first, which is then the one called last."""
    step_sizes: tuple[int, ...]
    """L counts of the sentences that still have a word at each step, falling; they sum to N."""
    by_length: Tensor
    """[B] int64; sentences in the order by length."""

    @classmethod
    def build(
        cls, token_offsets: IndexArray, lengths: IndexArray, words: IndexArray
    ) -> SequenceSchedule:
        """Returns the schedule of sentences.

        Args:
            token_offsets: [B+1].
            lengths: [B], each >= 1.
            words: [N]; word type of each token.
        """
        by_length = np.argsort(-lengths, kind="stable")
        sorted_lengths = lengths[by_length]
        # Sentences longer than step t: those before the first one of length <= t.
        steps = np.arange(sorted_lengths[0])
        step_sizes = np.searchsorted(-sorted_lengths, -steps, side="left")
        step_starts = np.cumsum(step_sizes) - step_sizes
        # Places of tokens, step by step, in each step by the sentences' length.
        step_of = np.repeat(steps, step_sizes)
        rank = np.arange(len(step_of)) - step_starts[step_of]
        third = step_of > 1
        previous = step_starts[step_of[third] - 1] + rank[third]
        last = np.empty_like(by_length)
        last[by_length] = step_starts[sorted_lengths - 1] + np.arange(len(by_length))
        sentence = by_length[rank]
        onward, backward = token_offsets[sentence] + step_of, token_offsets[sentence + 1] - 1
        return cls(
            onward=_reading(onward, words, previous, last),
            backward=_reading(backward - step_of, words, previous, last),
            step_sizes=tuple(step_sizes.tolist()),
            by_length=to_tensor(by_length),
        )

    def later_steps(self, reading: Reading) -> Iterator[slice]:
        """Yields the rows of the second step, the third, …"""
        starts = accumulate(self.step_sizes[1:], initial=reading.num_first)
        return (slice(first, last) for first, last in pairwise(starts))


def _reading(
    tokens: IndexArray, words: IndexArray, previous: IndexArray, last: IndexArray
) -> Reading:
    """Returns the reading of a direction.

    Args:
        tokens: [N]; the token at each place, step by step, before any states are shared.
        words: [N]; word type of each token.
        previous: [·]; place of the word before, for each place of the third and later steps.
        last: [B]; place of each sentence's last word, in the order of the batch.
    """
    B, N = len(last), len(tokens)
    first_words, first_rows = distinct_words(words[tokens[:B]])
    row_of_place = np.concatenate([first_rows, np.arange(N - B) + len(first_words)])
    row_of_token = np.empty_like(tokens)
    row_of_token[tokens] = row_of_place
    return Reading(
        words=to_tensor(np.concatenate([first_words, words[tokens[B:]]])),
        num_first=len(first_words),
        first_rows=to_tensor(first_rows),
        previous_rows=to_tensor(row_of_place[previous]),
        last_rows=to_tensor(row_of_place[last]),
        row_of_token=to_tensor(row_of_token),
    )
