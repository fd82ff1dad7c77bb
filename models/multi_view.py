"""Two views of a sentence, each by its own encoder (Simoulin & Crabbé 2021, section Method).

Legend: B sentences, T word types, H hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.encoders import SentenceEncoder, build_encoder
from models.sentence_batch import SentenceBatch
from models.variants import DepCell, Init, Pooling, Precision
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


@dataclass(frozen=True, slots=True)
class TokenRange:
    """Where a batch's tokens stand among those of a larger batch that is computed in parts."""

    start: int
    stop: int
    total: int
    """Tokens of the larger batch."""


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
                bidirectional=config.bidirectional,
                dep_cell=config.dep_cell,
            )
            for place, view in enumerate(views)
        )
        self.output_size = 2 * config.hidden_size
        """Width of the pair's embedding, 2H."""

    def forward(
        self, batch: SentenceBatch, tokens: TokenRange | None = None
    ) -> tuple[Tensor, Tensor]:
        """Returns each view's vectors of the sentences, [B, H] twice.

        Args:
            tokens: the batch's place in a larger one, whose parts then drop out what the whole
                would; needs a batch made with ``share_words=False``.

        Raises:
            ValueError: the batch was made without the trees a view reads.
        """
        vectors = [embedding(batch.word_ids) for embedding in self.embeddings]
        inputs = [self._dropped_out(vectors[place], tokens) for place in (0, -1)]
        return self._view(0, batch, inputs[0]), self._view(1, batch, inputs[1])

    def _dropped_out(self, vectors: Tensor, tokens: TokenRange | None) -> Tensor:
        """Returns word vectors [T, E], in training with some components zeroed."""
        rate = self.config.word_dropout
        if not self.training or not rate:
            return vectors
        if tokens is None:
            return F.dropout(vectors, rate)
        # All parts draw for all tokens, from one random state, and each takes its own.
        noise = F.dropout(vectors.new_ones(tokens.total, vectors.shape[1]), rate)
        return vectors * noise[tokens.start : tokens.stop]

    def _view(self, place: int, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one view's vectors [B, H] in the type of the word vectors [T, E]."""
        inputs = word_vectors
        if self.config.precision == "bfloat16":
            inputs = inputs.bfloat16()
        encoded: Tensor = self.encoders[place](batch, inputs)
        return encoded.to(word_vectors.dtype)

    @torch.no_grad()
    def pool(
        self, batch: SentenceBatch, pooling: Sequence[Pooling]
    ) -> tuple[dict[Pooling, Tensor], ...]:
        """Returns each view's vectors, [B, H] for each pooling; for evaluation, no gradient.

        Args:
            batch: made with ``with_nodes=True`` if there is another pooling than ``last``.
            pooling: how a view's states become one vector; several share one computation.

        Raises:
            ValueError: the batch was made without the trees a view reads, or without nodes.
        """
        if set(pooling) == {"last"}:
            return tuple({"last": view} for view in self(batch))
        vectors = [embedding(batch.word_ids) for embedding in self.embeddings]
        pooled = []
        for place, encoder in enumerate(self.encoders):
            word_vectors = vectors[place % len(vectors)]
            is_low = self.config.precision == "bfloat16"
            inputs = word_vectors.bfloat16() if is_low else word_vectors
            states = cast(SentenceEncoder, encoder).states(batch, inputs).to(word_vectors.dtype)
            pooled.append({name: states.pool(name) for name in pooling})
        return tuple(pooled)

    def embed(self, batch: SentenceBatch) -> Tensor:
        """Returns the sentences' embeddings, [B, 2H]: both views side by side."""
        return torch.cat(self(batch), dim=1)
