"""What encoders share: a batch of sentences in, one vector a sentence or all states out; weights.

Pooling of all states into one vector is Tang & de Sa's (2018, table 2): max, mean and min over
time, and the last state. For evaluation only: no gradient goes through. Differs from the paper,
whose encoders have one state a word, over constituents: there all 2n - 1 nodes of a sentence of n
words are pooled, its words and its phrases.

Legend: B sentences, T word types, E word dimension, M nodes of all sentences, R distinct states,
H hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, TypeVar, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.models.config.training_config import Init
from treeviews.models.config.views import VIEWS, Pooling
from treeviews.models.encoders.sentence_batch import SentenceBatch

ScheduleT = TypeVar("ScheduleT")


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

        Raises:
            ValueError: the batch was made without the trees this encoder reads.
        """
        raise NotImplementedError

    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns all states of the sentences, without a gradient; for pooling in evaluation.

        Args:
            batch: made with ``with_nodes=True`` if this encoder reads trees.
            word_vectors: as above.

        Raises:
            ValueError: the batch was made without the trees this encoder reads, or without nodes.
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

    Raises:
        ValueError: no such view, or a setting is out of range.
    """
    if view not in VIEWS:
        raise ValueError(f"unknown view {view!r}; known: {', '.join(VIEWS)}")
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


def require(schedule: ScheduleT | None, encoder: str, columns: str) -> ScheduleT:
    """Returns the schedule, or says which arrays the batch was made without.

    Raises:
        ValueError: the schedule is None.
    """
    if schedule is None:
        raise ValueError(f"{encoder} needs a batch made with {columns}")
    return schedule


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

    Raises:
        ValueError: no such scheme.
    """
    if init not in get_args(Init):
        raise ValueError(f"unknown init {init!r}; known: {', '.join(get_args(Init))}")
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
