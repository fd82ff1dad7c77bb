"""What every encoder offers: a batch of sentences in, one vector a sentence or all states out.

Pooling of all states into one vector is Tang & de Sa's (2018, table 2): max, mean and min over
time, and the last state. For evaluation only: no gradient goes through. Differs from the paper,
whose encoders have one state a word, over constituents: there all 2n - 1 nodes of a sentence of n
words are pooled, its words and its phrases.

Legend: B sentences, T word types, E word dimension, M nodes of all sentences, R distinct states,
H hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from models.config.views import Pooling
from models.encoders.sentence_batch import SentenceBatch

ScheduleT = TypeVar("ScheduleT")


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


class SentenceEncoder(Protocol):
    """A module from sentences to vectors.

    The lookup of word vectors sits outside (`models.words.embedding`), so two views can share one.
    """

    output_size: int
    """H, the width of a sentence's vector."""

    def __call__(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H].

        Args:
            batch: the sentences, with the trees this encoder reads.
            word_vectors: [T, E]; row t is the vector of ``batch.word_ids[t]``. Not mutated.

        Raises:
            ValueError: the batch was made without the trees this encoder reads.
        """
        ...

    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns all states of the sentences, without a gradient; for pooling in evaluation.

        Args:
            batch: made with ``with_nodes=True`` if this encoder reads trees.
            word_vectors: as above.

        Raises:
            ValueError: the batch was made without the trees this encoder reads, or without nodes.
        """
        ...


def require(schedule: ScheduleT | None, encoder: str, columns: str) -> ScheduleT:
    """Returns the schedule, or says which arrays the batch was made without.

    Raises:
        ValueError: the schedule is None.
    """
    if schedule is None:
        raise ValueError(f"{encoder} needs a batch made with {columns}")
    return schedule
