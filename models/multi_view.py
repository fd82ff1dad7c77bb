"""Two views of a sentence, each by its own encoder (Simoulin & Crabbé 2021, section Method).

Legend: B sentences, T word types, H hidden.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.embedding import WordEmbedding
from models.encoders import build_encoder
from models.sentence_batch import SentenceBatch
from models.variants import Init


class MultiViewEncoder(nn.Module):
    """Encoders f and g; a sentence's embedding is the concatenation [f(s); g(s)].

    Two equal views are two encoders with weights of their own, as in QuickThoughts.
    """

    def __init__(
        self,
        views: Sequence[str],
        embeddings: Sequence[WordEmbedding],
        *,
        hidden_size: int,
        init: Init = "xavier",
    ) -> None:
        """Makes the pair.

        Args:
            views: two names of `models.views.VIEWS`.
            embeddings: one embedding that both views share, or one for each.
            hidden_size: H, the width of each view.
            init: how the encoders' weights start.

        Raises:
            ValueError: not two views, an unknown one, or neither one nor two embeddings.
        """
        super().__init__()
        if len(views) != 2:
            raise ValueError(f"a pair of views is needed, got {list(views)}")
        if len(embeddings) not in {1, 2}:
            raise ValueError(f"one embedding or two are needed, got {len(embeddings)}")
        self.views = (views[0], views[1])
        self.embeddings = nn.ModuleList(embeddings)
        self.encoders = nn.ModuleList(
            build_encoder(
                view,
                word_size=embeddings[place % len(embeddings)].word_size,
                hidden_size=hidden_size,
                init=init,
            )
            for place, view in enumerate(views)
        )
        self.output_size = 2 * hidden_size
        """Width of the pair's embedding, 2H."""

    def forward(self, batch: SentenceBatch) -> tuple[Tensor, Tensor]:
        """Returns each view's vectors of the sentences, [B, H] twice.

        Raises:
            ValueError: the batch was made without the trees a view reads.
        """
        vectors = [embedding(batch.word_ids) for embedding in self.embeddings]
        first: Tensor = self.encoders[0](batch, vectors[0])
        second: Tensor = self.encoders[1](batch, vectors[-1])
        return first, second

    def embed(self, batch: SentenceBatch) -> Tensor:
        """Returns the sentences' embeddings, [B, 2H]: both views side by side."""
        return torch.cat(self(batch), dim=1)
