"""The order in which a recurrent network reads a batch: all first words, all second words, …

Legend: B sentences, N tokens, L longest sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from models.schedules.arrays import IndexArray, on_device, to_tensor


@dataclass(frozen=True, slots=True)
class SequenceSchedule:
    """A batch packed without padding: sentences longest first, tokens step by step."""

    tokens: Tensor
    """[N] int64; flat token of each packed row. The first B rows are the first words."""
    reversed_tokens: Tensor
    """[N] int64; the same for reading from the last word to the first."""
    step_sizes: tuple[int, ...]
    """L counts of the sentences that still have a word at each step, falling; they sum to N."""
    previous_rows: Tensor
    """[N - B] int64; packed row of the word before, for each row after the first B."""
    last_rows: Tensor
    """[B] int64; packed row of each sentence's last word, in the order of the batch."""
    by_length: Tensor
    """[B] int64; sentences in the order by length."""

    @classmethod
    def build(cls, token_offsets: IndexArray, lengths: IndexArray) -> SequenceSchedule:
        """Returns the schedule of sentences with these offsets [B+1] and lengths [B] >= 1."""
        by_length = np.argsort(-lengths, kind="stable")
        sorted_lengths = lengths[by_length]
        # Sentences longer than step t: those before the first one of length <= t.
        steps = np.arange(sorted_lengths[0])
        step_sizes = np.searchsorted(-sorted_lengths, -steps, side="left")
        step_starts = np.cumsum(step_sizes) - step_sizes
        step_of = np.repeat(steps, step_sizes)
        place_of = np.arange(len(step_of)) - step_starts[step_of]
        last_rows = np.empty_like(by_length)
        last_rows[by_length] = step_starts[sorted_lengths - 1] + np.arange(len(by_length))
        sentence_of = by_length[place_of]
        num_first = len(lengths)
        return cls(
            tokens=to_tensor(token_offsets[sentence_of] + step_of),
            reversed_tokens=to_tensor(token_offsets[sentence_of + 1] - 1 - step_of),
            step_sizes=tuple(step_sizes.tolist()),
            previous_rows=to_tensor(step_starts[step_of[num_first:] - 1] + place_of[num_first:]),
            last_rows=to_tensor(last_rows),
            by_length=to_tensor(by_length),
        )

    def to(self, device: torch.device | str) -> SequenceSchedule:
        """Returns the schedule with its indices on ``device``."""
        return on_device(self, device)
