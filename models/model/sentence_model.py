"""The views of a sentence and the objective that trains them; the views of a finished model.

These are its encoders, if it has a decoder the inverse, and if asked its words. Tang & de Sa 2018,
section 2.2, and 2019, section 3.4: the inverse of what predicts words from a sentence's vector is
an encoder of its own. It is applied to each word's vector; the results are pooled as the words'
part of table 2 (2018) says, W X there.

Legend: B sentences, T word types, E word dimension, H_v width of view v.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.views import INVERSE, Pooling, is_mean
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.encoders.index_arrays import on_device
from treeviews.models.encoders.sentence_batch import SentenceBatch
from treeviews.models.encoders.sentence_encoder import SentenceStates
from treeviews.models.encoders.word_averages import BagOfWords, mean_of_words
from treeviews.models.model.multi_view import MultiViewEncoder
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
class Piece:
    """Sentences that are encoded at once."""

    sentences: SentenceBatch
    first_token: int
    """Their place among the tokens of the whole batch, where dropout depends on it."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingBatch:
    """Successive sentences ready to be computed; on several ranks, what is one's own of them."""

    pieces: tuple[Piece, ...]
    """What this rank encodes; nothing on some ranks of a batch with fewer sentences than ranks."""
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
        return cast("Decoder | None", self.objective.word_decoder)

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
        result: ObjectiveResult = self.objective(views, batch.context, self._look_up)
        return result

    def set_word_counts(self, counts: NDArray[np.int64]) -> None:
        """Tells an objective that draws words how often each stands in the training text.

        Args:
            counts: [V].
        """
        self.objective.set_word_counts(torch.from_numpy(counts))

    def constrain(self) -> dict[str, Tensor]:
        """Puts weights back to where they must lie after a step; returns scalars for the log."""
        return self.objective.constrain()

    def _look_up(self, word_ids: Tensor) -> Tensor:
        return self.encoder.look_up(word_ids)[0]

    def views(self, batch: TrainingBatch) -> list[Tensor]:
        """Returns the views of this rank's sentences, [b, H_v] each."""
        # Every rank draws for all tokens, so that all go on from one random state.
        noise = self.encoder.word_noise(batch.num_tokens)
        if not batch.pieces:
            like = self.encoder.look_up(torch.zeros(1, dtype=torch.int64, device=self.device))[0]
            # Differentiable like those of the other ranks, which all take part in the exchange.
            return [like.new_zeros(0, width).requires_grad_() for width in self.encoder.widths]
        encode = self._encoded if len(batch.pieces) == 1 else self._encoded_twice
        pieces = [encode(piece, noise) for piece in batch.pieces]
        return [torch.cat(parts) for parts in zip(*pieces, strict=True)]

    def _encoded(self, piece: Piece, noise: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Returns the views of a piece; ``noise`` is that of the whole batch."""
        own = slice(piece.first_token, piece.first_token + len(piece.sentences.word_ids))
        return tuple(self.encoder(piece.sentences, [factors[own] for factors in noise]))

    def _encoded_twice(self, piece: Piece, noise: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Returns the same, computed without a graph, and again when its gradients are known.

        That is a gradient cache (Gao et al. 2021, section 3): the objective sees the whole batch,
        while no more than one piece's graph is in memory.
        """
        # Reentrant, since level loops hold states that autograd does not see; it asks for an
        # argument with a gradient. Nothing random is left to be drawn.
        views: tuple[Tensor, ...] = checkpoint(
            lambda _: self._encoded(piece, noise),
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
        self,
        block: SentenceBlock,
        ranks: Ranks,
        sentences_at_once: int | None,
        *,
        share_words: bool,
    ) -> TrainingBatch:
        start, stop = ranks.part(len(block))
        length = sentences_at_once or len(block)
        pieces = []
        for first in range(start, stop, length):
            part = block.slice(first, min(first + length, stop))
            sentences = batch_of(part, self.config, share_words=share_words)
            pieces.append(Piece(sentences, first_token=int(block.offsets[first])))
        return TrainingBatch(
            tuple(pieces),
            SentenceContext.of(block, self.config),
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
    block: SentenceBlock,
    config: TrainingConfig | None = None,
    *,
    share_words: bool = True,
    with_nodes: bool = False,
) -> SentenceBatch:
    """Returns a block's sentences as the encoders take them.

    Args:
        config: of the views that will read them; None: any.
        share_words: whether tokens of one word share its vector; see `SentenceBatch`.
        with_nodes: whether all states of the sentences will be asked for; see `SentenceBatch`.
    """
    if config is not None:
        block = block.shuffled(config.shuffled)
    return SentenceBatch.from_arrays(
        block.token_ids,
        block.offsets,
        block.heads,
        block.binary_left,
        block.binary_right,
        views=None if config is None else config.views,
        share_words=share_words,
        with_nodes=with_nodes,
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
        self.widths = self.encoder.widths
        """H_v of each view."""
        if model.decoder is not None:
            self.widths = (*self.widths, model.decoder.sentence_size)
        self._beside: float | None = model.config.words_beside
        if self._beside is not None:
            words = cast(WordEmbedding, self.encoder.embeddings[0])
            self.widths = (*self.widths, words.word_size)

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
            assert INVERSE in self.views
            states = self._inverse_states(batch)
            pooled.append({name: states.pool(name) for name in pooling})
        if self._beside is not None:
            states = self._word_states(batch)
            pooled.append({name: states.pool(name) for name in pooling})
        for view, vectors, removed in zip(self.views, pooled, self.removed, strict=False):
            # Found on what stands for a sentence; the mean of a bag is its last state.
            for name in {"last", "mean"} if is_mean(view) else {"last"}:
                if name in vectors:
                    vectors[name] = removed(vectors[name])
        return pooled if self._beside is None else self._of_one_length(pooled)

    def _of_one_length(
        self, pooled: Sequence[Mapping[Pooling, Tensor]]
    ) -> list[dict[Pooling, Tensor]]:
        """Returns each vector at length 1, those of the words beside the views at their weight."""
        weights = [1.0] * (len(pooled) - 1) + [self._beside or 1.0]
        return [
            {name: weight * F.normalize(vectors, dim=1) for name, vectors in view.items()}
            for weight, view in zip(weights, pooled, strict=True)
        ]

    def _word_states(self, batch: SentenceBatch) -> SentenceStates:
        """Returns the words as the first view's lookup weighs them."""
        vectors = self.encoder.look_up(batch.word_ids)[0]
        return BagOfWords(word_size=vectors.shape[1]).states(batch, vectors)

    def _inverse_states(self, batch: SentenceBatch) -> SentenceStates:
        """Returns the inverse of each word, and for the last state their mean."""
        vectors = self.encoder.look_up(batch.word_ids)[0]
        rows = cast(Decoder, self.decoder).inverse(vectors)
        return SentenceStates(
            rows=rows,
            row_of_node=batch.word_of_token,
            node_offsets=batch.token_offsets,
            last=mean_of_words(batch, rows),
        )
