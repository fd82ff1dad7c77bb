"""Coupling layers, then the orthonormal projection ("Bijection+Linear").

    x = U c_L(… c_1(z)),    f_de⁻¹(x) = c_1⁻¹(… c_L⁻¹(Uᵀ x))

Tang & de Sa 2019, section 3.3.2: a bijection keeps the width, so the projection follows it.

A layer changes half of the components by any network m, undone by subtraction. Dinh et al. 2014
(NICE), as the paper writes it:

    y_1 = x_1,  y_2 = x_2 + m(x_1)        x_1 = y_1,  x_2 = y_2 - m(y_1)

Legend: B rows, D width of a sentence's vector, of which a layer keeps one part as it is and moves
the other, E width of a word's, L coupling layers.
"""

from __future__ import annotations

from itertools import pairwise
from typing import cast

from torch import Tensor, nn

from models.config.training_config import Activation, Init, Partition, TrainingConfig
from models.encoders.initialisation import initialise
from models.objectives.decoders.linear import LinearDecoder

_ACTIVATIONS: dict[Activation, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}


class BijectiveDecoder(nn.Module):
    """L coupling layers, each of which keeps the part that the one before it moved."""

    def __init__(self, *, sentence_size: int, word_size: int, config: TrainingConfig) -> None:
        """Makes the decoder.

        Raises:
            ValueError: sentence vectors of fewer than two components, or a rate with which the
                update diverges.
        """
        super().__init__()
        self.sentence_size = sentence_size
        self.word_size = word_size
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

        Raises:
            ValueError: fewer than two components, which have no parts.
        """
        super().__init__()
        if size < 2:
            raise ValueError(f"coupling layers need a sentence_size of 2 or more, got {size}")
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
