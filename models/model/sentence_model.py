"""The views of a sentence and the objective that trains them; the views of a finished model.

These are its encoders, if it has a decoder the inverse, and if asked its words. Tang & de Sa 2018,
section 2.2, and 2019, section 3.4: the inverse of what predicts words from a sentence's vector is
an encoder of its own. It is applied to each word's vector; the results are pooled as the words'
part of table 2 (2018) says, W X there.

Legend: B sentences, T word types, E word dimension, H_v width of view v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.views import VIEWS, Pooling, is_mean
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.encoders.index_arrays import on_device
from treeviews.models.encoders.sentence_encoder import SentenceBatch, SentenceEncoder, build_encoder
from treeviews.models.encoders.word_averages import word_states
from treeviews.models.model.ranks import ALONE, Ranks, gather_rows
from treeviews.models.objectives.decoders import Decoder
from treeviews.models.objectives.objective import (
    ObjectiveResult,
    SentenceContext,
    Sizes,
    build_objective,
)
from treeviews.models.words.word_embedding import WordEmbedding, word_embedding
from treeviews.models.words.word_vectors import WordVectors


@dataclass(frozen=True, slots=True, eq=False)
class TrainingBatch:
    """Successive sentences ready to be computed; on several ranks, what is one's own of them."""

    pieces: tuple[SentenceBatch, ...]
    """What this rank encodes, one after the other; none on some ranks of a batch with fewer
    sentences than ranks."""
    first_token: int
    """Their place among the tokens of the whole batch, where dropout depends on it."""
    context: SentenceContext
    """Of the sentences that take part in the objective."""
    num_sentences: int
    """Sentences of all ranks together."""
    num_tokens: int
    """Tokens of all ranks together."""

    def to(self, device: torch.device | str) -> TrainingBatch:
        """Returns the batch with its tensors on ``device``."""
        return on_device(self, device)


class RemovedComponents(nn.Module):
    """Directions that all sentences share, and that a finished view's vectors are rid of."""

    directions: Tensor

    def __init__(self, directions: Tensor) -> None:
        """Args: directions: [k, H_v]; orthonormal."""
        super().__init__()
        self.register_buffer("directions", directions)

    def forward(self, vectors: Tensor) -> Tensor:
        """Returns vectors [B, H_v] without their part along the directions."""
        return vectors - (vectors @ self.directions.T) @ self.directions


class SentenceModel(nn.Module):
    """All that training changes (encoders, critic, decoder) and the words it stands on."""

    encoder: MultiViewEncoder

    def __init__(self, config: TrainingConfig, vectors: WordVectors) -> None:
        """Draws the initial weights from torch's current random state.

        Args:
            vectors: as loaded; frozen ones are scaled as the configuration says.

        Raises:
            ValueError: the views cannot be scored against each other.
        """
        super().__init__()
        self.config = config
        if config.word_vectors == "trained" and config.trained_words is not None:
            vectors = vectors.first(config.trained_words)
        self.vectors = vectors
        """Those that tokens are looked up by."""
        self.removed = nn.ModuleList()
        """What each view of the finished model is rid of; empty if nothing. No training reads it:
        it is found on sentences of the corpus, afterwards."""
        self.encoder = MultiViewEncoder(config, self._embeddings())
        word_size = cast(WordEmbedding, self.encoder.embeddings[0]).word_size
        sizes = Sizes(self.encoder.widths, word_size, vectors.num_words)
        self.objective = build_objective(config, sizes)

    @property
    def decoder(self) -> Decoder | None:
        """What predicts words, if anything does; its inverse is one more view."""
        return cast("Decoder | None", getattr(self.objective, "decoder", None))

    @property
    def device(self) -> torch.device:
        """Where the model stands."""
        return self.encoder.device

    def _embeddings(self) -> list[WordEmbedding]:
        """Returns one embedding for all views, or one for each."""
        config = self.config
        if config.embeddings == "side_by_side":
            return [word_embedding(config, half) for half in self.vectors.halves()]
        is_trained = config.word_vectors == "trained"
        # Two frozen tables would hold the same vectors twice.
        num_tables = len(config.views) if is_trained and config.embeddings == "separate" else 1
        return [word_embedding(config, self.vectors) for _ in range(num_tables)]

    def forward(self, batch: TrainingBatch, ranks: Ranks = ALONE) -> ObjectiveResult:
        """Returns the objective of successive sentences; see `models.objectives`.

        Args:
            batch: made for the same ranks.
            ranks: on several the objective is that of all their sentences together.
        """
        num_rows = len(batch.context.documents)
        views = [gather_rows(view, ranks, num_rows) for view in self.views(batch)]
        result: ObjectiveResult = self.objective(
            views, batch.context, lambda word_ids: self.encoder.look_up(word_ids)[0]
        )
        return result

    def views(self, batch: TrainingBatch) -> list[Tensor]:
        """Returns the views of this rank's sentences, [b, H_v] each."""
        # Every rank draws for all tokens, so that all go on from one random state.
        noise = self.encoder.word_noise(batch.num_tokens)
        if not batch.pieces:
            like = self.encoder.look_up(torch.zeros(1, dtype=torch.int64, device=self.device))[0]
            # Differentiable like those of the other ranks, which all take part in the exchange.
            return [like.new_zeros(0, width).requires_grad_() for width in self.encoder.widths]
        encoded, first = [], batch.first_token
        for piece in batch.pieces:
            own = slice(first, first := first + len(piece.word_ids))
            own_noise = [factors[own] for factors in noise]
            encoded.append(self._encoded(piece, own_noise, with_graph=len(batch.pieces) == 1))
        return [torch.cat(parts) for parts in zip(*encoded, strict=True)]

    def _encoded(
        self, piece: SentenceBatch, noise: Sequence[Tensor], *, with_graph: bool
    ) -> tuple[Tensor, ...]:
        """Returns the views of a piece; without a graph, they are computed again in the way back.

        That is a gradient cache (Gao et al. 2021, section 3): the objective sees the whole batch,
        while no more than one piece's graph is in memory.
        """
        if with_graph:
            return tuple(self.encoder(piece, noise))
        # Reentrant, since level loops hold states that autograd does not see; it asks for an
        # argument with a gradient. Nothing random is left to be drawn.
        views: tuple[Tensor, ...] = checkpoint(
            lambda _: tuple(self.encoder(piece, noise)),
            torch.zeros((), requires_grad=True),
            use_reentrant=True,
            preserve_rng_state=False,
        )
        return views

    def training_batch(
        self, block: SentenceBlock, ranks: Ranks = ALONE, sentences_at_once: int | None = None
    ) -> TrainingBatch:
        """Returns what this rank computes of a block of successive sentences in training.

        Args:
            sentences_at_once: the longest piece; None: all that the rank has.
        """
        shares_words = not self.config.word_dropout
        return self._batch(block, ranks, sentences_at_once, share_words=shares_words)

    def result_of(
        self, block: SentenceBlock, sentences_at_once: int | None = None
    ) -> ObjectiveResult:
        """Returns the objective of a block of successive sentences, on this process alone."""
        batch = self._batch(block, ALONE, sentences_at_once, share_words=True)
        return self.forward(batch.to(self.device))

    def _batch(
        self, block: SentenceBlock, ranks: Ranks, length: int | None, *, share_words: bool
    ) -> TrainingBatch:
        start, stop = ranks.part(len(block))
        length = length or len(block)
        parts = (block.slice(n, min(n + length, stop)) for n in range(start, stop, length))
        return TrainingBatch(
            tuple(batch_of(part, self.config, share_words=share_words) for part in parts),
            first_token=int(block.offsets[start]),
            context=SentenceContext.of(block, self.config),
            num_sentences=len(block),
            num_tokens=int(block.offsets[-1]),
        )


def build_model(config: TrainingConfig, vectors: WordVectors, seed: int) -> SentenceModel:
    """Returns an untrained model whose weights are a function of the seed.

    The caller's random state is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return SentenceModel(config, vectors)


def batch_of(
    block: SentenceBlock, config: TrainingConfig | None = None, *, share_words: bool = True
) -> SentenceBatch:
    """Returns a block's sentences as the encoders take them.

    Args:
        config: of the views that will read them; None: any.
        share_words: whether tokens of one word share its vector; see `SentenceBatch`.
    """
    if config is not None:
        block = block.shuffled(config.shuffled)
    return SentenceBatch.from_arrays(
        block.token_ids,
        block.offsets,
        block.heads,
        block.binary_left,
        block.binary_right,
        views=tuple(VIEWS) if config is None else config.views,
        share_words=share_words,
    )


class SentenceViews(nn.Module):
    """What a finished model is asked for: views of sentences, pooled."""

    encoder: MultiViewEncoder

    def __init__(self, model: SentenceModel) -> None:
        """Takes the encoders and the decoder of a model, which go on to share its weights."""
        super().__init__()
        self.encoder = model.encoder
        self.decoder = cast("nn.Module | None", model.decoder)
        self.removed = model.removed
        self.views = model.config.test_views
        self.widths = tuple(model.config.view_widths(model.vectors.size))
        """H_v of each view."""
        self._beside: float | None = model.config.words_beside

    @torch.no_grad()
    def forward(self, batch: SentenceBatch) -> list[Tensor]:
        """Returns each view's vectors of the sentences, [B, H_v] each."""
        return [view["last"] for view in self.pool(batch, ("last",))]

    @torch.no_grad()
    def pool(self, batch: SentenceBatch, pooling: Sequence[Pooling]) -> list[dict[Pooling, Tensor]]:
        """Returns each view's vectors, [B, H_v] for each pooling.

        Args:
            batch: the sentences.
            pooling: how a view's states become one vector. Those of words each by itself have no
                last one; their mean stands for it.
        """
        pooled = self.encoder.pool(batch, pooling)
        # Words as the first view's lookup weighs them.
        words = self.encoder.look_up(batch.word_ids)[0]
        of_words = [] if self.decoder is None else [cast(Decoder, self.decoder).inverse(words)]
        if self._beside is not None:
            of_words.append(words)
        for rows in of_words:
            states = word_states(batch, rows)
            pooled.append({name: states.pool(name) for name in pooling})
        for view, vectors, removed in zip(self.views, pooled, self.removed, strict=False):
            # Found on what stands for a sentence; the mean of a bag is its last state.
            for name in {"last", "mean"} if is_mean(view) else {"last"}:
                if name in vectors:
                    vectors[name] = removed(vectors[name])
        if self._beside is None:
            return pooled
        # Each vector at length 1, those of the words beside the views at their weight.
        weights = [1.0] * (len(pooled) - 1) + [self._beside]
        return [
            {name: weight * F.normalize(vectors, dim=1) for name, vectors in view.items()}
            for weight, view in zip(weights, pooled, strict=True)
        ]


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
        """
        super().__init__()
        views = config.views
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
            batch: the sentences.
            pooling: how a view's states become one vector; several share one computation.
        """
        if set(pooling) == {"last"}:
            return [{"last": view} for view in self(batch)]
        pooled: list[dict[Pooling, Tensor]] = []
        for encoder, vectors in zip(self.encoders, self.look_up(batch.word_ids), strict=True):
            states = cast(SentenceEncoder, encoder).states(batch, self._lowered(vectors))
            pooled.append({name: states.to(vectors.dtype).pool(name) for name in pooling})
        return pooled
