"""Invertible maps from sentence vectors to the space of word vectors, and back without solving.

The projection's transpose is its inverse ("Linear"):

    x = U z,    f_de⁻¹(x) = Uᵀ x        Tang & de Sa 2018, section 2.2; 2019, section 3.3.1

With D >= E the rows of U are kept orthonormal and Uᵀ is a right inverse: words survive the way
there and back, sentences are projected onto the row space. With D < E the columns are, and Uᵀ is a
left inverse.

U is kept near orthonormal without ever inverting a matrix:

    U <- (1 + β) U - β (U Uᵀ) U        Tang & de Sa 2018, eq. 2, after Cissé et al. 2017

The update leaves U's singular vectors as they are and takes each singular value σ to
(1 + β) σ - β σ³. That converges to ±1 from any 0 < σ < √(1 + 2/β) and diverges from above; near
the end every update removes a share 2 β of the distance, and at β = 1/2 all but its square. As
(U Uᵀ) U = U (Uᵀ U), the form for rows and that for columns are one update; they differ in which
Gram matrix is the smaller.

At β = 0.01 the steps of Adam at 5e-4 outrun the update in the directions that they agree on. After
1,000 steps from 2048 to 300 dimensions, two thirds of the singular values lie within 0.01 of 1 and
the outermost at 0.84 and 1.43; at 0.5 all lie within 0.003, at the same cost and, where it was
compared, the same held-out loss. (Measured in batches of 512 sentences of textbooks, with tanh of a
linear average in the GRU's place.)

Coupling layers, then that projection ("Bijection+Linear"):

    x = U c_L(… c_1(z)),    f_de⁻¹(x) = c_1⁻¹(… c_L⁻¹(Uᵀ x))

Tang & de Sa 2019, section 3.3.2: a bijection keeps the width, so the projection follows it.

A layer changes half of the components by any network m, undone by subtraction. Dinh et al. 2014
(NICE), as the paper writes it:

    y_1 = x_1,  y_2 = x_2 + m(x_1)        x_1 = y_1,  x_2 = y_2 - m(y_1)

Legend: B rows, D width of a sentence's vector, of which a coupling layer keeps one part as it is
and moves the other, E width of a word's, L coupling layers.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.models.config.training_config import Activation, Init, Partition, TrainingConfig
from treeviews.models.encoders.sentence_encoder import initialise

_ACTIVATIONS: dict[Activation, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}


class LinearDecoder(nn.Module):
    """U [E, D], no bias."""

    def __init__(self, *, sentence_size: int, word_size: int, config: TrainingConfig) -> None:
        """Makes the decoder; its U is not orthonormal yet, unless ``init`` makes it so.

        Args:
            sentence_size: D.
            word_size: E.
            config: with ``orthonormal_rate``, β; 0 leaves U free, and its transpose is the inverse
                by name only (Tang & de Sa 2018, section 4.1, use it all the same).

        Raises:
            ValueError: from such a start the update with this rate diverges.
        """
        super().__init__()
        self.orthonormal_rate = config.orthonormal_rate
        self.projection = nn.Linear(sentence_size, word_size, bias=False)
        initialise(self.projection, config.init, block_rows=word_size)
        largest = largest_rate(self.projection.weight)
        if self.orthonormal_rate >= largest:
            raise ValueError(
                f"orthonormal_rate {self.orthonormal_rate} diverges from init {config.init!r} at "
                f"sentence size {sentence_size} and word size {word_size}: make it less than "
                f"{largest:.2g}, or init orthonormal"
            )

    def forward(self, sentences: Tensor) -> Tensor:
        """Returns x = U z, [B, E], from sentence vectors z [B, D]."""
        return F.linear(sentences, self.projection.weight)

    def inverse(self, words: Tensor) -> Tensor:
        """Returns Uᵀ x, [B, D], from vectors of the words' space x [B, E]; differentiable."""
        return words @ self.projection.weight

    @torch.no_grad()
    def constrain(self) -> None:
        """Moves U towards orthonormality after a step of the optimiser, in place: one update."""
        matrix, rate = self.projection.weight, self.orthonormal_rate
        if rate:
            gram = _smaller_gram(matrix)
            factors = (gram, matrix) if _is_wide(matrix) else (matrix, gram)
            matrix.copy_(torch.addmm(matrix, *factors, beta=1 + rate, alpha=-rate))

    @torch.no_grad()
    def orthonormality(self) -> Tensor:
        """Returns ‖U Uᵀ - I‖_F, of Uᵀ U if D < E. Scalar, detached.

        Tang & de Sa 2018, section 2.2 and its footnote; it bounds the distance of every singular
        value from 1.
        """
        gram = _smaller_gram(self.projection.weight)
        gram.diagonal().sub_(1)
        return gram.square().sum().sqrt()


class BijectiveDecoder(nn.Module):
    """L coupling layers, each of which keeps the part that the one before it moved."""

    def __init__(self, *, sentence_size: int, word_size: int, config: TrainingConfig) -> None:
        """Makes the decoder.

        Raises:
            ValueError: a rate with which the update diverges.
        """
        super().__init__()
        self.couplings = nn.ModuleList(
            CouplingLayer(sentence_size, config, keeps_first=layer % 2 == 0)
            for layer in range(config.coupling_layers)
        )
        self.linear = LinearDecoder(sentence_size=sentence_size, word_size=word_size, config=config)

    def forward(self, sentences: Tensor) -> Tensor:
        """Returns x [B, E] from sentence vectors z [B, D]."""
        for coupling in self.couplings:
            sentences = coupling(sentences)
        return cast(Tensor, self.linear(sentences))

    def inverse(self, words: Tensor) -> Tensor:
        """Returns f_de⁻¹(x), [B, D], from vectors of the words' space x [B, E]."""
        sentences = self.linear.inverse(words)
        for coupling in reversed(self.couplings):
            sentences = cast(CouplingLayer, coupling).inverse(sentences)
        return sentences

    def constrain(self) -> None:
        """Moves the projection towards orthonormality after a step of the optimiser, in place."""
        self.linear.constrain()

    def orthonormality(self) -> Tensor:
        """Returns ‖U Uᵀ - I‖_F of the projection, of Uᵀ U if D < E. Scalar, detached."""
        return self.linear.orthonormality()


class CouplingLayer(nn.Module):
    """One coupling of D components; its inverse is exact up to rounding."""

    def __init__(self, size: int, config: TrainingConfig, *, keeps_first: bool) -> None:
        """Makes the layer.

        Args:
            size: D, at least 2. The first part of an odd D is the smaller among halves and the
                larger among alternate components.
            config: partition, and the network's width, depth, activation and initialisation.
            keeps_first: whether the first part stays, or the other.
        """
        super().__init__()
        parts = _parts(size, config.coupling_partition)
        self._kept, self._moved = parts if keeps_first else parts[::-1]
        num_kept = len(range(size)[self._kept])
        num_moved = size - num_kept
        hidden = [config.coupling_width or num_moved] * config.coupling_depth
        widths = [num_kept, *hidden, num_moved]
        self.network = _network(widths, config.coupling_activation, config.init)

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns y [B, D] from x [B, D]."""
        outputs = inputs.clone()
        outputs[..., self._moved] += self.network(inputs[..., self._kept])
        return outputs

    def inverse(self, outputs: Tensor) -> Tensor:
        """Returns x [B, D] from y [B, D]."""
        inputs = outputs.clone()
        inputs[..., self._moved] -= self.network(outputs[..., self._kept])
        return inputs


def _parts(size: int, partition: Partition) -> tuple[slice, slice]:
    if partition == "alternate":
        return slice(0, None, 2), slice(1, None, 2)
    return slice(0, size // 2), slice(size // 2, None)


def _network(widths: list[int], activation: Activation, init: Init) -> nn.Sequential:
    """Returns linear layers of the widths with the activation between them.

    The last one starts like the others, so that m is not zero at first: "the bijective function
    [is] initialised with orthonormal matrices" (Tang & de Sa 2019, appendix A). Biases are 0.
    """
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        linear = nn.Linear(inputs, outputs)
        initialise(linear, init, block_rows=outputs)
        layers += [linear, _ACTIVATIONS[activation]()]
    return nn.Sequential(*layers[:-1])


Decoder = LinearDecoder | BijectiveDecoder
"""x = f_de(z) of Tang & de Sa 2019, section 3.3, whose inverse is the second encoder."""


def largest_rate(matrix: Tensor) -> float:
    """Returns the β from which on the update of U [E, D] diverges; infinite if none does.

    Of a matrix without values (device meta) nothing is known: infinite.
    """
    if matrix.is_meta:
        return math.inf
    largest = float(torch.linalg.matrix_norm(matrix.detach(), 2))
    return 2 / (largest**2 - 1) if largest > 1 else math.inf


def _is_wide(matrix: Tensor) -> bool:
    return matrix.shape[0] <= matrix.shape[1]


def _smaller_gram(matrix: Tensor) -> Tensor:
    return matrix @ matrix.T if _is_wide(matrix) else matrix.T @ matrix
