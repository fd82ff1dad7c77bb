"""The order in which a recurrent network reads a batch: all first words, all second words, …

Legend: B sentences, N tokens, L longest sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from models.schedules.arrays import IndexArray, to_tensor


@dataclass(frozen=True, slots=True)
class SequenceSchedule:
    """A batch packed without padding: sentences longest first, tokens step by step."""

    tokens: Tensor
    """[N] int64; flat token of each packed row. The first B rows are the first words."""
    step_sizes: tuple[int, ...]
    """L counts of the sentences that still have a word at each step, falling; they sum to N."""
    unsort: Tensor
    """[B] int64; place of each sentence of the batch in the order by length."""

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
        unsort = np.empty_like(by_length)
        unsort[by_length] = np.arange(len(by_length))
        return cls(
            tokens=to_tensor(token_offsets[by_length[place_of]] + step_of),
            step_sizes=tuple(step_sizes.tolist()),
            unsort=to_tensor(unsort),
        )

    def to(self, device: torch.device | str) -> SequenceSchedule:
        """Returns the schedule with its indices on ``device``."""
        return SequenceSchedule(self.tokens.to(device), self.step_sizes, self.unsort.to(device))
