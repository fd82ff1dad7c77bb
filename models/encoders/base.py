"""What every encoder offers: a batch of sentences in, one vector a sentence out."""

from __future__ import annotations

from typing import Protocol, TypeVar

from torch import Tensor

from models.encoders.states import SentenceStates
from models.sentence_batch import SentenceBatch

ScheduleT = TypeVar("ScheduleT")


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
