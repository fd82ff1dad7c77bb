"""What encoders share: a batch of sentences in, one vector a sentence or all states out; weights.

Pooling of all states into one vector is Tang & de Sa's (2018, table 2): max, mean and min over
time, and the last state. For evaluation only: no gradient goes through. Differs from the paper,
whose encoders have one state a word, over constituents: there all 2n - 1 nodes of a sentence of n
words are pooled, its words and its phrases.

Legend: B sentences, T word types, E word dimension, M nodes of all sentences, R distinct states,
H hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.models.config.training_config import Init
from treeviews.models.config.views import VIEWS, Pooling
from treeviews.models.encoders.binary_schedule import BinarySchedule
from treeviews.models.encoders.dependency_schedule import DependencySchedule
from treeviews.models.encoders.index_arrays import distinct_words, on_device, to_tensor
from treeviews.models.encoders.sequence_schedule import SequenceSchedule


@dataclass(frozen=True, slots=True)
class SentenceStates:
    """Each sentence's states, equal ones perhaps only once."""

    rows: Tensor
    """[R, H]; the distinct states."""
    row_of_node: Tensor
    """[M] int64; the state of each node, sentence by sentence."""
    node_offsets: Tensor
    """[B+1] int64; sentence b owns the nodes node_offsets[b]..node_offsets[b+1], one or more."""
    last: Tensor
    """[B, H]; what the encoder gives for the sentence."""

    def to(self, dtype: torch.dtype) -> SentenceStates:
        """Returns the states in another type."""
        return replace(self, rows=self.rows.to(dtype), last=self.last.to(dtype))

    def pool(self, pooling: Pooling) -> Tensor:
        """Returns one vector per sentence, [B, H]."""
        if pooling == "last":
            return self.last
        nodes = self.rows.index_select(0, self.row_of_node)
        pooled: Tensor = torch.segment_reduce(
            nodes, pooling, offsets=self.node_offsets.to(nodes.device), axis=0
        )
        return pooled


class SentenceEncoder(nn.Module):
    """A module from sentences to vectors.

    The lookup of word vectors sits outside (`models.words.word_embedding`), so two views can share
    one.
    """

    output_size: int
    """H, the width of a sentence's vector."""

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H].

        Args:
            batch: the sentences, with the trees this encoder reads.
            word_vectors: [T, E]; row t is the vector of ``batch.word_ids[t]``. Not mutated.
        """
        raise NotImplementedError

    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns all states of the sentences, without a gradient; for pooling in evaluation.

        Arguments as in `forward`.
        """
        raise NotImplementedError


def build_encoder(
    view: str, *, word_size: int, read_rms: float | None = None, **settings: Any
) -> SentenceEncoder:
    """Returns a new encoder of the view.

    Args:
        view: one of `models.config.views.VIEWS`.
        word_size: E, the width of a word vector.
        read_rms: root mean square of a component at which an encoder with weights reads every
            word; None: as it comes.
        settings: fields of `TrainingConfig`, of which the view takes its own.
    """
    module, _, name = VIEWS[view].encoder.partition(":")
    own = {key: settings[key] for key in VIEWS[view].settings if key in settings}
    make = getattr(import_module(module, package=__package__), name)
    encoder: SentenceEncoder = make(word_size=word_size, **own)
    return encoder if read_rms is None or not VIEWS[view].settings else ReadAlike(encoder, read_rms)


class ReadAlike(SentenceEncoder):
    """A view that reads every word at one length, whatever it weighs in sums.

    Unknown words, whose vectors are zero, stay so.
    """

    def __init__(self, view: SentenceEncoder, rms: float) -> None:
        """Takes an encoder over.

        Args:
            rms: root mean square of a component of each word's vector as it is read.
        """
        super().__init__()
        self.output_size = view.output_size
        self.view = view
        self._rms = rms

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """See `SentenceEncoder`."""
        vectors: Tensor = self.view(batch, self._read(word_vectors))
        return vectors

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """See `SentenceEncoder`."""
        return self.view.states(batch, self._read(word_vectors))

    def _read(self, word_vectors: Tensor) -> Tensor:
        length: float = self._rms * word_vectors.shape[1] ** 0.5
        return F.normalize(word_vectors, dim=1) * length


UNIFORM_BOUND = 0.005
"""Half-width of "uniform": a later text of Simoulin & Crabbé's chapter."""
OPEN_BIAS = 1.0
"""Of gates that start open: at 0 a forget gate halves a memory at every level of a tree, so that
little of a deep word reaches the root (Gers et al. 2000)."""

_FILL: dict[Init, Callable[[Tensor], object]] = {
    "xavier": nn.init.xavier_uniform_,
    "uniform": partial(nn.init.uniform_, a=-UNIFORM_BOUND, b=UNIFORM_BOUND),
    "xavier_open": nn.init.xavier_uniform_,
    "he": partial(nn.init.kaiming_normal_, mode="fan_in", nonlinearity="relu"),
    "orthonormal": nn.init.orthogonal_,
}


def initialise(
    module: nn.Module, init: Init, *, block_rows: int, block_columns: int | None = None
) -> None:
    """Sets every bias of ``module`` to zero and every matrix by ``init``, in place.

    - "xavier" is Xavier-uniform (Simoulin & Crabbé 2021, section Experiments: "a Xavier
      distribution and biases set to 0"), "xavier_open" the same but for the forget gates' biases,
      which `open_gates` sets.
    - "uniform" is uniform in ±0.005.
    - "he" is normal with deviation sqrt(2 / fan-in) (He et al. 2015, eq. 10; Tang & de Sa 2018,
      appendix 3); `open_gates` sets gates' biases.
    - "orthonormal" makes the rows of a gate's matrix, or its columns where it is taller than wide,
      a random orthonormal system (Saxe et al. 2013; Tang & de Sa 2019, appendix A).

    Args:
        module: its vectors are biases; its matrices are blocks of the papers' matrices.
        init: the scheme. Fans and orthonormality are those of one block, as the papers write each
            gate, and each child of a gate, with a matrix of its own.
        block_rows: rows of one matrix: gates stand one below the other.
        block_columns: columns of one matrix, where several stand side by side.
    """
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 1:
                parameter.zero_()
                continue
            for gate in parameter.split(block_rows):
                for block in gate.split(block_columns or gate.shape[1], 1):
                    _FILL[init](block)


def open_gates(
    bias: Tensor, init: Init, *, under: tuple[Init, ...] = ("xavier_open", "he")
) -> None:
    """Sets gates' bias to 1 under some schemes, in place.

    Those of trees' forget gates by default. "he" is Tang & de Sa 2018, appendix 3: "all gates in
    the bi-GRU are initialised to 1".
    """
    if init in under:
        with torch.no_grad():
            bias.fill_(OPEN_BIAS)


@dataclass(frozen=True, slots=True)
class SentenceBatch:
    """Sentences with the order of computation for each view that reads them; immutable.

    An order is None if no view needs it, or if the batch was made without its trees.
    """

    token_offsets: Tensor
    """[B+1] int64; sentence b's tokens are the flat tokens token_offsets[b]..token_offsets[b+1]."""
    word_ids: Tensor
    """[T] int64; vocabulary ids of the batch's word types, ascending; if these are not shared, of
    its tokens. Id 0 is the unknown word."""
    word_of_token: Tensor
    """[N] int64; row of each token's word type in ``word_ids``."""
    sequence: SequenceSchedule | None
    """Of views that read the words in their order."""
    dependencies: DependencySchedule | None
    """Of views that read dependency trees."""
    constituents: BinarySchedule | None
    """Of views that read constituency trees."""

    @classmethod
    def from_arrays(
        cls,
        token_ids: npt.ArrayLike,
        token_offsets: npt.ArrayLike,
        heads: npt.ArrayLike | None = None,
        binary_left: npt.ArrayLike | None = None,
        binary_right: npt.ArrayLike | None = None,
        *,
        views: Collection[str] = tuple(VIEWS),
        share_words: bool = True,
    ) -> SentenceBatch:
        """Returns the batch of sentences given as flat arrays, as Arrow's list columns hold them.

        Args:
            token_ids: [N]; vocabulary ids, 0 for unknown words.
            token_offsets: [B+1]; 0, …, N; each sentence has a token or more.
            heads: [N]; 1-based heads, 0 for the root.
            binary_left: [N-B]; n-1 values a sentence, see `BinarySchedule.build`.
            binary_right: [N-B].
            views: those that will read the batch.
            share_words: whether equal words are one word type. Without it every token is a type of
                its own, so that tokens may be given vectors that differ, as by dropout.

        Raises:
            ValueError: a malformed tree; names the sentence.
        """
        ids, offsets = np.asarray(token_ids, np.int64), np.asarray(token_offsets, np.int64)
        lengths = np.diff(offsets)
        assert lengths.min() > 0 and offsets[-1] == len(ids), "tokens of each sentence"
        words, num_words = np.arange(len(ids)), len(ids)
        word_ids = ids.copy()
        if share_words:
            word_ids, words = distinct_words(ids)
            num_words = len(word_ids)
        reads = {VIEWS[view].reads for view in views}
        sequence = dependencies = constituents = None
        if "sequence" in reads:
            sequence = SequenceSchedule.build(offsets, lengths, words)
        if heads is not None and "dependencies" in reads:
            flat = np.asarray(heads, np.int64)
            dependencies = DependencySchedule.build(flat, words, num_words, offsets, lengths)
        if binary_left is not None and binary_right is not None and "constituents" in reads:
            children = np.array([binary_left, binary_right], np.int64)
            constituents = BinarySchedule.build(children, words, num_words, offsets, lengths)
        return cls(
            token_offsets=to_tensor(offsets.copy()),
            word_ids=to_tensor(word_ids),
            word_of_token=to_tensor(words),
            sequence=sequence,
            dependencies=dependencies,
            constituents=constituents,
        )

    @property
    def num_sentences(self) -> int:
        """B."""
        return len(self.token_offsets) - 1

    @property
    def num_tokens(self) -> int:
        """N."""
        return len(self.word_of_token)

    def to(self, device: torch.device | str) -> SentenceBatch:
        """Returns the batch with its index tensors on ``device``."""
        return on_device(self, device)
