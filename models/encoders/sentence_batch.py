"""A batch of sentences as every encoder takes it: flat tokens, word types, optional trees.

Legend: B sentences, N tokens, T word types of the batch.

Whatever depends on a word alone (its vector, the input products, the states of leaves) is the
same for all its occurrences, so it is computed once for each of the batch's T word types.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from treeviews.models.config.views import VIEWS
from treeviews.models.corpus.sentence_block import MAX_TOKENS
from treeviews.models.encoders.binary_schedule import BinarySchedule
from treeviews.models.encoders.dependency_schedule import DependencySchedule
from treeviews.models.encoders.index_arrays import (
    IndexArray,
    as_index_array,
    distinct_words,
    lengths_from_offsets,
    on_device,
    refuse,
    to_tensor,
)
from treeviews.models.encoders.sequence_schedule import SequenceSchedule


@dataclass(frozen=True, slots=True)
class SentenceBatch:
    """Sentences with the order of computation for each view that reads them; immutable.

    An order is None if no view needs it, or if the batch was made without its trees.
    """

    token_offsets: Tensor
    """[B+1] int64; sentence b's tokens are the flat tokens token_offsets[b]..token_offsets[b+1]."""
    word_ids: Tensor
    """[T] int64; vocabulary ids of the batch's word types, ascending; if these are not shared, of
    its tokens. Id 0 is the unknown word."""
    word_of_token: Tensor
    """[N] int64; row of each token's word type in ``word_ids``."""
    sequence: SequenceSchedule | None
    """Of views that read the words in their order."""
    dependencies: DependencySchedule | None
    """Of views that read dependency trees."""
    constituents: BinarySchedule | None
    """Of views that read constituency trees."""

    @classmethod
    def from_arrays(
        cls,
        token_ids: npt.ArrayLike,
        token_offsets: npt.ArrayLike,
        heads: npt.ArrayLike | None = None,
        binary_left: npt.ArrayLike | None = None,
        binary_right: npt.ArrayLike | None = None,
        *,
        views: Collection[str] | None = None,
        share_words: bool = True,
        with_nodes: bool = False,
    ) -> SentenceBatch:
        """Returns the batch of sentences given as flat arrays, as Arrow's list columns hold them.

        Args:
            token_ids: [N]; vocabulary ids, 0 for unknown words.
            token_offsets: [B+1]; 0, …, N.
            heads: [N]; 1-based heads, 0 for the root.
            binary_left: [N-B]; n-1 values a sentence, see `BinarySchedule.build`.
            binary_right: [N-B]; given if and only if ``binary_left`` is.
            views: those that will read the batch; None: any.
            share_words: whether equal words are one word type. Without it every token is a type of
                its own, so that tokens may be given vectors that differ, as by dropout.
            with_nodes: whether the trees' schedules say which state is which node's, for pooling.

        Raises:
            ValueError: arrays that do not fit together, or a malformed tree; names the array or
                the sentence.
        """
        ids = as_index_array(token_ids, "token_ids")
        offsets = as_index_array(token_offsets, "token_offsets")
        lengths = lengths_from_offsets(offsets, len(ids))
        refuse(lengths > MAX_TOKENS, f"has more than {MAX_TOKENS:,} tokens")
        if len(ids) and ids.min() < 0:
            raise ValueError("token_ids must not be negative; unknown words are 0")
        if (binary_left is None) != (binary_right is None):
            raise ValueError("binary_left and binary_right must be given together")
        if share_words:
            word_ids, word_of_token = distinct_words(ids)
        else:
            word_ids, word_of_token = ids.copy(), np.arange(len(ids))
        num_words = len(word_ids)
        trees: dict[str, Any] = {
            "lengths": lengths,
            "token_offsets": offsets,
            "with_nodes": with_nodes,
        }
        of_words: dict[str, Any] = {"words": word_of_token, "num_words": num_words}
        reads = {VIEWS[view].reads for view in (VIEWS if views is None else views)}
        sequence = dependencies = constituents = None
        if "sequence" in reads:
            sequence = SequenceSchedule.build(offsets, lengths, word_of_token)
        if heads is not None:
            flat_heads = _aligned(heads, "heads", len(ids))
            if "dependencies" in reads:
                dependencies = DependencySchedule.build(flat_heads, **of_words, **trees)
        if binary_left is not None and binary_right is not None:
            num_inner = len(ids) - len(lengths)
            left = _aligned(binary_left, "binary_left", num_inner)
            right = _aligned(binary_right, "binary_right", num_inner)
            if "constituents" in reads:
                constituents = BinarySchedule.build(left, right, **of_words, **trees)
        return cls(
            token_offsets=to_tensor(offsets.copy()),
            word_ids=to_tensor(word_ids),
            word_of_token=to_tensor(word_of_token),
            sequence=sequence,
            dependencies=dependencies,
            constituents=constituents,
        )

    @property
    def num_sentences(self) -> int:
        """B."""
        return len(self.token_offsets) - 1

    @property
    def num_tokens(self) -> int:
        """N."""
        return len(self.word_of_token)

    def to(self, device: torch.device | str) -> SentenceBatch:
        """Returns the batch with its index tensors on ``device``."""
        return on_device(self, device)


def _aligned(values: npt.ArrayLike, name: str, expected: int) -> IndexArray:
    array = as_index_array(values, name)
    if len(array) != expected:
        raise ValueError(f"{name} holds {len(array)} values where the tokens ask for {expected}")
    return array
