"""Views of a sentence, each by its own encoder (Simoulin & Crabbé 2021, section Method).

Legend: B sentences, T word types, H_v width of view v.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.views import Pooling
from treeviews.models.encoders.sentence_batch import SentenceBatch
from treeviews.models.encoders.sentence_encoder import SentenceEncoder, build_encoder
from treeviews.models.words.word_embedding import WordEmbedding


class MultiViewEncoder(nn.Module):
    """One encoder a view; a pair's embedding of a sentence is the concatenation [f(s); g(s)].

    Two equal views are two encoders with weights of their own, as in QuickThoughts.
    """

    def __init__(self, config: TrainingConfig, embeddings: Sequence[WordEmbedding]) -> None:
        """Makes the encoders.

        Args:
            config: the views, and what their encoders have in common. ``precision`` bfloat16 makes
                the encoders' products and states so; their results come back as the word vectors
                were. tf32 is a switch of the device.
            embeddings: one embedding that all views share, or one for each.

        Raises:
            ValueError: another number of embeddings.
        """
        super().__init__()
        views = config.views
        if len(embeddings) not in {1, len(views)}:
            raise ValueError(
                f"one embedding or one for each of {len(views)} views are needed, got "
                f"{len(embeddings)}"
            )
        self.views = views
        self.config = config
        self.embeddings = nn.ModuleList(embeddings)
        self.encoders = nn.ModuleList(
            build_encoder(
                view,
                word_size=embeddings[place % len(embeddings)].word_size,
                **config.values(),
            )
            for place, view in enumerate(views)
        )
        self.widths = tuple(cast(SentenceEncoder, encoder).output_size for encoder in self.encoders)
        """H_v of each view."""

    def forward(self, batch: SentenceBatch, noise: Sequence[Tensor] = ()) -> list[Tensor]:
        """Returns each view's vectors of the sentences, [B, H_v] each.

        Args:
            noise: factors of the words' vectors, [T, E] for each view; see `word_noise`.

        Raises:
            ValueError: the batch was made without the trees a view reads.
        """
        inputs = self.look_up(batch.word_ids)
        if noise:
            inputs = [own * factors for own, factors in zip(inputs, noise, strict=True)]
        return [
            encoder(batch, self._lowered(own)).to(own.dtype)
            for encoder, own in zip(self.encoders, inputs, strict=True)
        ]

    def word_noise(self, num_words: int) -> list[Tensor]:
        """Draws dropout of word vectors: zeroes some components, and scales the others up.

        Returns:
            Factors [T, E]; each view has its own, whether or not it shares the vectors. No tensors
            where nothing is dropped: outside of training, or without ``word_dropout``.
        """
        rate = self.config.word_dropout
        if not self.training or not rate:
            return []
        like = self.look_up(torch.zeros(0, dtype=torch.int64, device=self.device))
        return [F.dropout(own.new_ones(num_words, own.shape[1]), rate) for own in like]

    @property
    def device(self) -> torch.device:
        """Where the encoders stand; known also of encoders without parameters."""
        return cast(WordEmbedding, self.embeddings[0]).scale.device

    def look_up(self, word_ids: Tensor) -> list[Tensor]:
        """Returns the vectors of words [T] as each view reads them, [T, E] each."""
        found = [embedding(word_ids) for embedding in self.embeddings]
        return found * (len(self.views) // len(found))

    def _lowered(self, vectors: Tensor) -> Tensor:
        return vectors.bfloat16() if self.config.precision == "bfloat16" else vectors

    @torch.no_grad()
    def pool(self, batch: SentenceBatch, pooling: Sequence[Pooling]) -> list[dict[Pooling, Tensor]]:
        """Returns each view's vectors, [B, H_v] for each pooling; for evaluation, no gradient.

        Args:
            batch: made with ``with_nodes=True`` if there is another pooling than ``last``.
            pooling: how a view's states become one vector; several share one computation.

        Raises:
            ValueError: the batch was made without the trees a view reads, or without nodes.
        """
        if set(pooling) == {"last"}:
            return [{"last": view} for view in self(batch)]
        pooled: list[dict[Pooling, Tensor]] = []
        for encoder, vectors in zip(self.encoders, self.look_up(batch.word_ids), strict=True):
            states = cast(SentenceEncoder, encoder).states(batch, self._lowered(vectors))
            pooled.append({name: states.to(vectors.dtype).pool(name) for name in pooling})
        return pooled
