"""All views of a finished model: its encoders, and the inverse of its decoder if it has one.

Tang & de Sa 2018, section 2.2, and 2019, section 3.4: the inverse of what predicts words from a
sentence's vector is an encoder of its own. It is applied to each word's vector; the results are
pooled as the words' part of table 2 (2018) says, W X there.

Legend: B sentences, T word types, E word dimension, H_v width of view v.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.config.views import INVERSE, Pooling
from models.encoders.base import SentenceStates
from models.encoders.sentence_batch import SentenceBatch
from models.model.multi_view import MultiViewEncoder
from models.model.sentence_model import SentenceModel
from models.objectives.decoders.decoder import Decoder


class SentenceViews(nn.Module):
    """What a finished model is asked for: views of sentences, pooled."""

    encoder: MultiViewEncoder

    def __init__(self, model: SentenceModel) -> None:
        """Takes the encoders and the decoder of a model, which go on to share its weights."""
        super().__init__()
        self.encoder = model.encoder
        self.decoder = cast("nn.Module | None", model.decoder)
        self.views = model.config.test_views
        self.widths = self.encoder.widths
        """H_v of each view."""
        if model.decoder is not None:
            self.widths = (*self.widths, model.decoder.sentence_size)

    @property
    def names(self) -> list[str]:
        """Place and name of each view (``0-DEP``), by which its embeddings are called."""
        return [f"{place}-{view}" for place, view in enumerate(self.views)]

    @torch.no_grad()
    def forward(self, batch: SentenceBatch) -> list[Tensor]:
        """Returns each view's vectors of the sentences, [B, H_v] each.

        Raises:
            ValueError: the batch was made without the trees a view reads.
        """
        return [view["last"] for view in self.pool(batch, ("last",))]

    @torch.no_grad()
    def pool(self, batch: SentenceBatch, pooling: Sequence[Pooling]) -> list[dict[Pooling, Tensor]]:
        """Returns each view's vectors, [B, H_v] for each pooling.

        Args:
            batch: made with ``with_nodes=True`` if there is another pooling than ``last``.
            pooling: how a view's states become one vector. Those of words each by itself have no
                last one; their mean stands for it.

        Raises:
            ValueError: the batch was made without the trees a view reads, or without nodes.
        """
        pooled = self.encoder.pool(batch, pooling)
        if self.decoder is not None:
            assert self.views[-1] == INVERSE
            states = self._inverse_states(batch)
            pooled.append({name: states.pool(name) for name in pooling})
        return pooled

    def _inverse_states(self, batch: SentenceBatch) -> SentenceStates:
        """Returns the inverse of each word, and for the last state their mean."""
        vectors = self.encoder.look_up(batch.word_ids)[0]
        rows = cast(Decoder, self.decoder).inverse(vectors)
        mean = F.embedding_bag(batch.word_of_token, rows, batch.token_offsets[:-1], mode="mean")
        return SentenceStates(
            rows=rows, row_of_node=batch.word_of_token, node_offsets=batch.token_offsets, last=mean
        )
