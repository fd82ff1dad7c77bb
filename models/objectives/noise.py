"""The words that a prediction is told from: unigram frequencies, flattened by a power.

P_e(w) ∝ count(w)^0.75 (Mikolov et al. 2013, section 2.2; Tang & de Sa 2018, section 2.2). The
unknown word and words that never occur are not drawn.

Legend: V words of the vocabulary, S draws.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

RESOLUTION = 2**53
"""Equal parts that the probabilities are counted in; doubles hold every such number exactly."""
EVALUATION_SEED = 0
"""Of the draws in evaluation."""


class NoiseDistribution(nn.Module):
    """Draws vocabulary ids; what it draws from is part of the model's state."""

    cumulative: Tensor
    """[V] int64; share of the words up to and with each, in parts of `RESOLUTION`. Whole numbers,
    so that neither a cast of the model nor a mean over ranks changes them."""

    def __init__(self, num_words: int, power: float) -> None:
        """Makes a distribution that waits for its words' counts.

        Args:
            num_words: V, the unknown word included.
            power: of the counts; 0 draws every word that occurs alike.
        """
        super().__init__()
        self.power = power
        self.register_buffer("cumulative", torch.zeros(num_words, dtype=torch.int64))
        self._is_set = False

    def set_word_counts(self, counts: Tensor) -> None:
        """Sets the frequencies.

        Args:
            counts: [V]; occurrences of each word. That of id 0, the unknown word, is not used.

        Raises:
            ValueError: another number of words, a negative or infinite count, or no word that
                occurs.
        """
        if counts.shape != self.cumulative.shape:
            raise ValueError(
                f"word counts must be of the vocabulary's {len(self.cumulative)} words, got "
                f"{list(counts.shape)}"
            )
        known = counts.to("cpu", torch.float64, copy=True)
        known[:1] = 0.0
        if not (known.isfinite() & (known >= 0)).all():
            raise ValueError("word counts must be finite and not negative")
        if not known.any():
            raise ValueError(
                "word counts have no known word; noise can be drawn only from words that occur "
                "in the corpus and have a vector"
            )
        shares = torch.where(known > 0, known**self.power, 0.0).cumsum(0)
        self.cumulative.copy_((shares / shares[-1] * RESOLUTION).long())

    def draw(self, count: int) -> Tensor:
        """Returns ids of ``count`` independent draws, [S] int64 on the module's device.

        In training they come from torch's global state, in evaluation they are always the same.

        Raises:
            ValueError: the counts were never set.
        """
        self._check_set()
        generator = None if self.training else torch.Generator().manual_seed(EVALUATION_SEED)
        # Drawn on the CPU, so that one seed gives one result on every device.
        places = torch.randint(RESOLUTION, (count,), generator=generator)
        return torch.searchsorted(self.cumulative, places.to(self.cumulative.device), right=True)

    def _check_set(self) -> None:
        """Asks once only, since to ask is to wait for the device."""
        if not self._is_set:
            if not self.cumulative[-1:].any():
                raise ValueError(
                    "the noise words' frequencies are not known; call set_word_counts with the "
                    "corpus's word counts, or load a trained model's weights"
                )
            self._is_set = True
