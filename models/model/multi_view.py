"""Views of a sentence, each by its own encoder (Simoulin & Crabbé 2021, section Method).

Legend: B sentences, T word types, H_v width of view v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.config.training_config import TrainingConfig
from models.config.views import Pooling
from models.encoders import SentenceEncoder, build_encoder
from models.encoders.sentence_batch import SentenceBatch
from models.words.embedding import WordEmbedding


@dataclass(frozen=True, slots=True)
class TokenRange:
    """Where a batch's tokens stand among those of a larger batch that is computed in parts."""

    start: int
    stop: int
    total: int
    """Tokens of the larger batch."""


class MultiViewEncoder(nn.Module):
    """One encoder a view; a pair's embedding of a sentence is the concatenation [f(s); g(s)].

    Two equal views are two encoders with weights of their own, as in QuickThoughts.
    """

    def __init__(self, config: TrainingConfig, embeddings: Sequence[WordEmbedding]) -> None:
        """Makes the encoders.

        Args:
            config: the views, and what their encoders have in common. ``word_dropout`` zeroes
                components of word vectors in training and scales the others up; each view draws its
                own, for every token of a batch made with ``share_words=False``, else for every word
                type. ``precision`` bfloat16 makes the encoders' products and states so; their
                results come back as the word vectors were. tf32 is a switch of the device.
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
                hidden_size=config.hidden_size,
                init=config.init,
                bidirectional=config.bidirectional,
                dep_cell=config.dep_cell,
                path_parts=config.path_parts,
                added_to_words=config.added_to_words,
                read_rms=config.read_rms,
            )
            for place, view in enumerate(views)
        )
        self.widths = tuple(cast(SentenceEncoder, encoder).output_size for encoder in self.encoders)
        """H_v of each view."""

    def forward(self, batch: SentenceBatch, tokens: TokenRange | None = None) -> list[Tensor]:
        """Returns each view's vectors of the sentences, [B, H_v] each.

        Args:
            tokens: the batch's place in a larger one, whose parts then drop out what the whole
                would; needs a batch made with ``share_words=False``.

        Raises:
            ValueError: the batch was made without the trees a view reads.
        """
        vectors = self.look_up(batch.word_ids)
        # Every view draws its own, whether or not it shares the vectors.
        inputs = [self._dropped_out(own, tokens) for own in vectors]
        return [
            encoder(batch, self._lowered(own)).to(own.dtype)
            for encoder, own in zip(self.encoders, inputs, strict=True)
        ]

    @property
    def device(self) -> torch.device:
        """Where the encoders stand; known also of encoders without parameters."""
        return cast(WordEmbedding, self.embeddings[0]).scale.device

    def skip(self, tokens: TokenRange | None) -> None:
        """Draws what the larger batch's other parts draw, for a part without sentences.

        All parts then go on from one random state.
        """
        for vectors in self.look_up(torch.zeros(0, dtype=torch.int64, device=self.device)):
            if tokens is not None:
                self._dropped_out(vectors, tokens)

    def look_up(self, word_ids: Tensor) -> list[Tensor]:
        """Returns the vectors of words [T] as each view reads them, [T, E] each."""
        found = [embedding(word_ids) for embedding in self.embeddings]
        return found * (len(self.views) // len(found))

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
