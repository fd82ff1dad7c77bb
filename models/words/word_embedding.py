"""From vocabulary ids to word vectors: the one lookup that all views of a model may share.

Legend: V vocabulary size, T word types of a batch, E word dimension. Id 0 is the unknown word,
whose vector is zero and stays zero.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.words.word_vectors import WordVectors, sif_weights

UNIFORM_BOUND = 0.1
"""Half-width of "uniform" (QuickThoughts)."""


def word_embedding(config: TrainingConfig, vectors: WordVectors) -> WordEmbedding:
    """Returns a new lookup as a training asks for it.

    Args:
        vectors: those of the words, as loaded. If words are trained from nothing, their values
            do not count.

    Raises:
        ValueError: vectors that are all zero, or counts that are, where they are needed.
    """
    is_trained = config.word_vectors == "trained"
    weights = None
    if config.word_weights != "none":
        weights = torch.from_numpy(sif_weights(vectors, config.sif_a))
    scale = 1.0
    if is_trained and config.trained_word_init != "given":
        table = torch.empty(vectors.num_words, config.trained_word_size)
        if config.trained_word_init == "xavier":
            nn.init.xavier_uniform_(table)
        else:
            table.uniform_(-UNIFORM_BOUND, UNIFORM_BOUND)
        table[0] = 0
    else:
        table = torch.from_numpy(vectors.matrix)
        if is_trained:  # in the precision of every other parameter
            table = table.float()
        if config.vector_rms is not None:
            scale = vectors.scale_to(config.vector_rms, unit=config.unit_words)
        if config.unit_words:
            lengths = torch.from_numpy(vectors.lengths)
            if is_trained:
                table = table / lengths[:, None]
            else:  # the table may be large, and no second one is made
                weights = (1 if weights is None else weights) / lengths
    return WordEmbedding(table, trained=is_trained, scale=scale, weights=weights)


class WordEmbedding(nn.Module):
    """Word vectors, given or trained, and their weights, looked up once a word type of a batch.

    What is given is no part of the module's saved state (two million GloVe vectors would be 2.4 GB
    in every checkpoint); a loader passes it in again. What is trained is, and its gradients are
    sparse: a batch has a few thousand words of a vocabulary.
    """

    vectors: Tensor
    scale: Tensor
    weights: Tensor | None

    def __init__(
        self,
        vectors: Tensor,
        *,
        trained: bool,
        scale: float = 1.0,
        weights: Tensor | None = None,
    ) -> None:
        """Makes the lookup.

        Args:
            vectors: [V, E]; floating point, row 0 zero. Frozen vectors keep their own precision
                (half is enough) and are converted as they are looked up.
            trained: whether the vectors are parameters.
            scale: every vector is multiplied by it; saved with the module.
            weights: [V], above 0; each word's vector is multiplied by its weight.
        """
        super().__init__()
        assert vectors.is_meta or not vectors[0].any(), "row 0 is the unknown word's, and zero"
        if trained:
            self.vectors = nn.Parameter(vectors.detach().clone())
        else:
            self.register_buffer("vectors", vectors, persistent=False)
        # Its type is the type of the result, so that module.double() does what it says.
        self.register_buffer("scale", torch.tensor(scale))
        self.register_buffer("weights", weights, persistent=False)

    @property
    def word_size(self) -> int:
        """E."""
        return self.vectors.shape[1]

    def forward(self, word_ids: Tensor) -> Tensor:
        """Returns the vectors of ``word_ids`` [T], a tensor [T, E] of its own."""
        dtype = self.scale.dtype
        rows = F.embedding(word_ids, self.vectors, sparse=self.vectors.requires_grad)
        looked_up = rows.to(dtype).mul_(self.scale)
        if self.weights is not None:
            looked_up = looked_up * self.weights.index_select(0, word_ids).to(dtype)[:, None]
        if not looked_up.requires_grad:
            return looked_up
        # No gradient reaches the unknown word, so no optimiser moves it from zero.
        return looked_up.masked_fill((word_ids == 0)[:, None], 0.0)
