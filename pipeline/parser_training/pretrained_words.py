"""A word embedding that adds frozen pretrained vectors to learned ones while a parser is trained.

Dozat & Manning 2017, section 3.1, whose sum is supar's too; differs from them in that a linear map,
fitted first and learned with the rest, stands between the pretrained vectors and the sum. After
training the sum is one table, so that the parser that is kept is built and run like any other. The
vectors are the ones that ship with the project, or others of their format.
Legend: V words, L of them learned, F features of a pretrained vector, E of the embedding.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.pipeline.parsers.dependency_model import (
    DependencyModel,
    Dropouts,
    Network,
    build_network,
)
from treeviews.pipeline.parsers.parser_folder import ParserModel
from treeviews.pipeline.vectors.vector_folder import open_folder


def read_pretrained_vectors(folder: Path, max_words: int = 0) -> tuple[list[str], Tensor]:
    """Returns V lower-cased words of a `pipeline.vectors.vector_folder`, and vectors ``[V, F]``.

    The most frequent words come first.

    It is the vector of the word as it is written in lower case or, where the vectors do not know
    that, of its most frequent spelling.

    Args:
        folder: whose words are ordered by frequency.
        max_words: only the first so many; 0 for all.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: one is malformed; names it and the remedy.
    """
    table = open_folder(folder, whole=True)
    words = table.words.slice(0, max_words or len(table.words)).to_pylist()
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        rows.setdefault(word.lower(), row)
    rows |= {word: row for row, word in enumerate(words) if word in rows}
    matrix = torch.from_numpy(table.rows[1 : len(words) + 1].astype(np.float32))
    return list(rows), matrix[torch.tensor(list(rows.values()))]


_RIDGE = 0.05
"""Of the mean squared feature: holds the fitted map small where words tell little."""


class VectorWordEmbedding(nn.Embedding):
    """The learned vectors of the first L words, plus every word's pretrained one, mapped.

    Row i gives word i. Row V + i gives word i as a parser meets one that it knows from the
    vectors alone: the unknown word's learned vector plus the mapped vector of word i.
    """

    _pretrained: Tensor
    _learned_rows: Tensor

    def __init__(
        self, learned_LE: Tensor, pretrained_VF: Tensor, map_FE: Tensor, *, unknown_word_id: int
    ) -> None:
        """Starts to learn from given values.

        Args:
            learned_LE: taken over, not copied.
            pretrained_VF: zero where there is no vector; not trained and not part of the state.
            map_FE: taken over, not copied.
            unknown_word_id: below L; the words from L on share its learned vector.
        """
        num_learned, width = learned_LE.shape
        super().__init__(num_learned, width, _weight=learned_LE)
        self.map = nn.Parameter(map_FE)
        rows = torch.full((2 * len(pretrained_VF),), unknown_word_id)
        rows[:num_learned] = torch.arange(num_learned)
        self.register_buffer("_learned_rows", rows, persistent=False)
        self.register_buffer("_pretrained", pretrained_VF, persistent=False)

    def forward(self, input: Tensor) -> Tensor:
        """Returns ``[..., E]`` for rows below 2 V."""
        vectors = F.embedding(input % len(self._pretrained), self._pretrained)
        return F.embedding(self._learned_rows[input], self.weight) + vectors @ self.map

    def table(self) -> Tensor:
        """Returns ``[V, E]``: the sum of all words, as one embedding holds it."""
        return self.forward(torch.arange(len(self._pretrained))).detach()


def extended_by_vectors(
    model: DependencyModel, words: Sequence[str], matrix_NF: Tensor, dropouts: Dropouts
) -> DependencyModel:
    """Returns a trained parser with the vectors' words in its vocabulary.

    The words that it knew keep their embeddings to the last bit but rounding. The others get what
    their vectors predict: the linear map is fitted to the words that both know.

    Args:
        words: N of them, lower-cased.
        matrix_NF: their vectors, of any width.
    """
    vocabulary = model.description.vocabulary.extended(words)
    description = model.description.changed(vocabulary=vocabulary)
    unknown = vocabulary.unknown_word_id
    state = {name: tensor.detach().clone() for name, tensor in model.network.state_dict().items()}
    learned = state["word_embed.weight"]
    num_added = len(vocabulary.words) - len(learned)
    state["word_embed.weight"] = torch.cat((learned, learned[unknown].expand(num_added, -1)))
    network = build_network(description, dropouts)
    network.load_state_dict(state)
    pretrained = torch.zeros(len(vocabulary.words), matrix_NF.shape[1])
    row_of = {word: row for row, word in enumerate(words)}
    for word_id, word in enumerate(vocabulary.words):
        if word in row_of:
            pretrained[word_id] = matrix_NF[row_of[word]]
    known = pretrained[: len(learned)].any(1)
    linear = _fitted_map(pretrained[: len(learned)][known], learned[known] - learned[unknown])
    network.word_embed = VectorWordEmbedding(
        learned - pretrained[: len(learned)] @ linear, pretrained, linear, unknown_word_id=unknown
    )
    return ParserModel(network, description)


def with_plain_embedding(network: Network) -> Network:
    """Returns a copy of a network with any pretrained vectors added into its word embedding."""
    plain = copy.copy(network)
    if isinstance(network.word_embed, VectorWordEmbedding):
        plain._modules = dict(network._modules)
        plain.word_embed = nn.Embedding.from_pretrained(network.word_embed.table())
    return plain


def _fitted_map(vectors_NF: Tensor, wanted_NE: Tensor) -> Tensor:
    """Returns the linear map ``[F, E]`` of least squares, with a ridge."""
    squares = vectors_NF.T @ vectors_NF
    ridge = (_RIDGE * squares.diagonal().mean() + 1e-6) * torch.eye(len(squares))
    linear: Tensor = torch.linalg.solve(squares + ridge, vectors_NF.T @ wanted_NE)
    return linear
