"""A word embedding that adds frozen pretrained vectors to learned ones while a parser is trained.

Dozat & Manning 2017, section 3.1, whose sum is supar's too; differs from them in that a linear map,
learned with the rest, stands between the pretrained vectors and the sum. After training the sum is
one table, so that the parser that is kept is built and run like any other. The vectors are the ones
that ship with the project, or others of their format.
Legend: V words, L of them learned, F features of a pretrained vector, E of the embedding.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.pipeline.parsers.dependency_model import (
    DependencyModel,
    DependencyVocabulary,
    Dropouts,
    Network,
    build_network,
)
from treeviews.pipeline.vectors.vector_folder import open_folder


@dataclass(frozen=True, eq=False)
class PretrainedVectors:
    """V words and their vectors, most frequent words first."""

    words: list[str]
    """In lower case."""
    matrix: Tensor
    """``[V, E]`` float32."""


def read_pretrained_vectors(folder: Path, max_words: int = 0) -> PretrainedVectors:
    """Returns the vectors of a `pipeline.vectors.vector_folder`, one for each lower-cased word.

    It is the vector of the word as it is written in lower case or, where the vectors do not know
    that, of its most frequent spelling.

    Args:
        folder: whose words are ordered by frequency.
        max_words: only the first so many; 0 for all.

    Raises:
        ValueError: a file is missing or malformed; names it and the remedy.
    """
    try:
        table = open_folder(folder, whole=True)
    except FileNotFoundError as error:
        raise ValueError(str(error)) from error
    words = table.words.slice(0, max_words or len(table.words)).to_pylist()
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        rows.setdefault(word.lower(), row)
    rows |= {word: row for row, word in enumerate(words) if word in rows}
    matrix = torch.from_numpy(table.rows[1 : len(words) + 1].astype(np.float32))
    return PretrainedVectors(list(rows), matrix[torch.tensor(list(rows.values()))])


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


def add_pretrained_vectors(
    network: Network,
    vocabulary: DependencyVocabulary,
    vectors: PretrainedVectors,
    *,
    num_learned: int,
) -> None:
    """Replaces a fresh network's word embedding by one with pretrained vectors, as they are.

    Args:
        network: built for all words of the vocabulary.
        vectors: lower-cased.
        num_learned: L; the words from there on have no learned vector of their own.

    Raises:
        ValueError: the vectors are not as wide as the network's word embedding.
    """
    learned = network.word_embed
    if vectors.matrix.shape[1] != learned.embedding_dim:
        raise ValueError(
            f"word vectors of {vectors.matrix.shape[1]} dimensions for a word embedding of "
            f"{learned.embedding_dim}; they must be equally wide"
        )
    network.word_embed = VectorWordEmbedding(
        learned.weight[:num_learned].detach().clone(),
        _rows_of(vocabulary, vectors),
        torch.eye(learned.embedding_dim),
        unknown_word_id=vocabulary.unknown_word_id,
    )


def extended_by_vectors(
    model: DependencyModel, vectors: PretrainedVectors, dropouts: Dropouts
) -> tuple[Network, DependencyVocabulary]:
    """Returns a trained parser's network, and its vocabulary with the vectors' words added.

    The words that it knew keep their embeddings to the last bit but rounding. The others get what
    their vectors predict: the linear map is fitted to the words that both know.

    Args:
        vectors: lower-cased, of any width.
    """
    vocabulary = model.vocabulary.extended(vectors.words)
    unknown = vocabulary.unknown_word_id
    state = {name: tensor.detach().clone() for name, tensor in model.network.state_dict().items()}
    learned = state["word_embed.weight"]
    num_added = len(vocabulary.words) - len(learned)
    state["word_embed.weight"] = torch.cat((learned, learned[unknown].expand(num_added, -1)))
    network = build_network(model.sizes, vocabulary, dropouts)
    network.load_state_dict(state)
    pretrained = _rows_of(vocabulary, vectors)
    known = pretrained[: len(learned)].any(1)
    linear = _fitted_map(pretrained[: len(learned)][known], learned[known] - learned[unknown])
    network.word_embed = VectorWordEmbedding(
        learned - pretrained[: len(learned)] @ linear, pretrained, linear, unknown_word_id=unknown
    )
    return network, vocabulary


def with_plain_embedding(network: Network) -> Network:
    """Returns a copy of a network with any pretrained vectors added into its word embedding."""
    plain = copy.copy(network)
    if isinstance(network.word_embed, VectorWordEmbedding):
        plain._modules = dict(network._modules)
        plain.word_embed = nn.Embedding.from_pretrained(network.word_embed.table())
    return plain


def _rows_of(vocabulary: DependencyVocabulary, vectors: PretrainedVectors) -> Tensor:
    """Returns ``[V, F]``: each word's vector, zero where it has none."""
    rows = torch.zeros(len(vocabulary.words), vectors.matrix.shape[1])
    row_of = {word: row for row, word in enumerate(vectors.words)}
    for word_id, word in enumerate(vocabulary.words):
        if word in row_of:
            rows[word_id] = vectors.matrix[row_of[word]]
    return rows


def _fitted_map(vectors_NF: Tensor, wanted_NE: Tensor) -> Tensor:
    """Returns the linear map ``[F, E]`` of least squares, with a ridge."""
    squares = vectors_NF.T @ vectors_NF
    ridge = (_RIDGE * squares.diagonal().mean() + 1e-6) * torch.eye(len(squares))
    linear: Tensor = torch.linalg.solve(squares + ridge, vectors_NF.T @ wanted_NE)
    return linear
