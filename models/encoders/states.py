"""All states of a batch's sentences, and their pooling into one vector a sentence.

Tang & de Sa 2018, table 2: max, mean and min over time, and the last state. For evaluation only: no
gradient goes through.

Differs from the paper, whose encoders have one state a word, over constituents: there all 2n - 1
nodes of a sentence of n words are pooled, its words and its phrases.

Legend: B sentences, M nodes of all sentences, R distinct states, H hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from models.views import Pooling


@dataclass(frozen=True, slots=True)
class SentenceStates:
    """Each sentence's states, equal ones perhaps only once."""

    rows: Tensor
    """[R, H]; the distinct states."""
    row_of_node: Tensor
    """[M] int64; the state of each node, sentence by sentence."""
    node_offsets: Tensor
    """[B+1] int64; sentence b owns the nodes node_offsets[b]..node_offsets[b+1], one or more."""
    last: Tensor
    """[B, H]; what the encoder gives for the sentence."""

    def to(self, dtype: torch.dtype) -> SentenceStates:
        """Returns the states in another type."""
        return replace(self, rows=self.rows.to(dtype), last=self.last.to(dtype))

    def pool(self, pooling: Pooling) -> Tensor:
        """Returns one vector per sentence, [B, H]."""
        if pooling == "last":
            return self.last
        nodes = self.rows.index_select(0, self.row_of_node)
        pooled: Tensor = torch.segment_reduce(
            nodes, pooling, offsets=self.node_offsets.to(nodes.device), axis=0
        )
        return pooled
