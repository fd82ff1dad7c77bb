"""Two views of a sentence, each by its own encoder (Simoulin & Crabbé 2021, section Method).

Legend: B sentences, T word types, H hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.encoders import build_encoder
from models.sentence_batch import SentenceBatch
from models.variants import DepCell, Init, Precision
from models.words.embedding import WordEmbedding


@dataclass(frozen=True, slots=True)
class MultiViewConfig:
    """What both encoders of a pair have in common."""

    hidden_size: int
    """H, the width of each view."""
    init: Init = "xavier"
    """How the encoders' weights start."""
    bidirectional: bool = False
    """Whether SEQ reads both ways, H/2 wide each."""
    dep_cell: DepCell = "child_sum"
    """How DEP sums a node's children."""
    word_dropout: float = 0.0
    """Share of the components of word vectors that are zeroed in training, the others being scaled
    up; each view draws its own. A batch made with ``share_words=False`` draws for every token,
    another one for every word type."""
    precision: Precision = "float32"
    """bfloat16 makes the encoders' products and states so; their results come back as the word
    vectors were. tf32 is a switch of the device and none of the encoders."""

    def options(self, view: str) -> dict[str, Any]:
        """Returns the arguments that only some views' encoders take."""
        if view == "SEQ" and self.bidirectional:
            return {"bidirectional": True}
        if view == "DEP" and self.dep_cell != "child_sum":
            return {"dep_cell": self.dep_cell}
        return {}


class MultiViewEncoder(nn.Module):
    """Encoders f and g; a sentence's embedding is the concatenation [f(s); g(s)].

    Two equal views are two encoders with weights of their own, as in QuickThoughts.
    """

    def __init__(
        self,
        views: Sequence[str],
        embeddings: Sequence[WordEmbedding],
        config: MultiViewConfig,
    ) -> None:
        """Makes the pair.

        Args:
            views: two names of `models.views.VIEWS`.
            embeddings: one embedding that both views share, or one for each.
            config: what the two encoders have in common.

        Raises:
            ValueError: not two views, an unknown one, or neither one nor two embeddings.
        """
        super().__init__()
        if len(views) != 2:
            raise ValueError(f"a pair of views is needed, got {list(views)}")
        if len(embeddings) not in {1, 2}:
            raise ValueError(f"one embedding or two are needed, got {len(embeddings)}")
        self.views = (views[0], views[1])
        self.config = config
        self.embeddings = nn.ModuleList(embeddings)
        self.encoders = nn.ModuleList(
            build_encoder(
                view,
                word_size=embeddings[place % len(embeddings)].word_size,
                hidden_size=config.hidden_size,
                init=config.init,
                **config.options(view),
            )
            for place, view in enumerate(views)
        )
        self.output_size = 2 * config.hidden_size
        """Width of the pair's embedding, 2H."""

    def forward(self, batch: SentenceBatch) -> tuple[Tensor, Tensor]:
        """Returns each view's vectors of the sentences, [B, H] twice.

        Raises:
            ValueError: the batch was made without the trees a view reads.
        """
        vectors = [embedding(batch.word_ids) for embedding in self.embeddings]
        return self._view(0, batch, vectors[0]), self._view(1, batch, vectors[-1])

    def _view(self, place: int, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one view's vectors [B, H] in the type of the word vectors [T, E]."""
        inputs = word_vectors
        if self.training and self.config.word_dropout:
            inputs = F.dropout(inputs, self.config.word_dropout)
        if self.config.precision == "bfloat16":
            inputs = inputs.bfloat16()
        encoded: Tensor = self.encoders[place](batch, inputs)
        return encoded.to(word_vectors.dtype)

    def embed(self, batch: SentenceBatch) -> Tensor:
        """Returns the sentences' embeddings, [B, 2H]: both views side by side."""
        return torch.cat(self(batch), dim=1)
