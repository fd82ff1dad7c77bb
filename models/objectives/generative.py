"""Generative objective: predict the words of the next sentence by negative sampling; and the joint
one, Tang & de Sa's GD (2018, appendix), which adds the discriminative loss.

Tang & de Sa 2018, section 2.2, equation 1, and 2019, section 3.1, with x_i = f_de(z_i) the decoded
vector of sentence i and v_w frozen word vectors:

    log P(w | s_i) = log σ(x_iᵀ v_w) + K E_{w' ~ P_e} log σ(-x_iᵀ v_w')
    L = - mean_i mean_{w in s_{i+1}} log P(w | s_i)

The expectation is the same for every word of a sentence. So it is estimated once a sentence, by the
mean over one matrix of words drawn for the whole batch, of which each costs a column of a matrix
product. That is as unbiased as K draws a word, and for one sentence by far more exact. But all
sentences share the draws, so the errors do not average out over the batch: its gradient is as exact
as with K draws a word only if nearly as many words are drawn as those would be in all. Noise is
drawn from unigram frequencies, flattened by a power, P_e(w) ∝ count(w)^0.75 (Mikolov et al. 2013,
section 2.2; Tang & de Sa 2018, section 2.2); the unknown word and words that never occur are not
drawn. Frequent words are drawn many times; each is scored once and counts so often.

Legend: B sentences of the batch, P of them predict, M words to predict, T distinct words among
them, S draws of noise, N distinct words among
them, V of the vocabulary, D sentence width, E word width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.objectives.decoders import BijectiveDecoder, Decoder, LinearDecoder
from treeviews.models.objectives.discriminative import DiscriminativeObjective
from treeviews.models.objectives.objective import (
    LookUp,
    NextWords,
    Objective,
    ObjectiveResult,
    SentenceContext,
    Sizes,
)

RESOLUTION = 2**53
"""Equal parts that the probabilities are counted in; doubles hold every such number exactly."""
F32 = torch.float32
EVALUATION_SEED = 0
"""Of the draws in evaluation."""


class GenerativeObjective(Objective):
    """The loss over a batch's first view; holds the decoder and the noise distribution."""

    def __init__(self, config: TrainingConfig, sizes: Sizes) -> None:
        """Makes the objective; `set_word_counts` completes it.

        Raises:
            ValueError: see `models.objectives.decoders.LinearDecoder`.
        """
        super().__init__()
        self.config = config
        kind = BijectiveDecoder if config.decoder == "bijective" else LinearDecoder
        self.decoder: Decoder = kind(
            sentence_size=sizes.widths[0], word_size=sizes.word_size, config=config
        )
        self.noise = NoiseDistribution(sizes.num_words, config.noise_power)

    def set_word_counts(self, counts: Tensor) -> None:
        """Sets what noise is drawn by; see `NoiseDistribution.set_word_counts`."""
        self.noise.set_word_counts(counts)

    def forward(
        self, views: Sequence[Tensor], context: SentenceContext, look_up: LookUp
    ) -> ObjectiveResult:
        """Returns loss, accuracy and chance of a batch.

        The loss is the mean over the sentences that predict. Unknown words have zero vectors: they
        add the constant log 2 and nothing to learn. The accuracy is how often a known word of the
        next sentence scores above a word of noise; equal scores count one half.

        Differs from word2vec and from a literal equation 1: the S draws are shared by the batch, so
        the estimates of its sentences depend on one another.

        Args:
            views: of each sentence; the first, [B, D], predicts.
            context: of these sentences, with their next words.
            look_up: gives the frozen word vectors.
        """
        next_words = context.next_words
        assert next_words is not None, "the generative objective needs the next sentences' words"
        # Chosen after decoding: few sentences predict nothing, and words' vectors are narrower.
        decoded = self.decoder(views[0]).index_select(0, next_words.predictors)
        noise = distinct(self.noise.draw(self.config.shared_negatives))
        of_words = pair_scores(decoded, look_up(next_words.word_ids), next_words)
        of_noise = decoded @ look_up(noise.word_ids).T
        num_anchors = torch.tensor(len(decoded), device=decoded.device)
        lengths = next_words.offsets.diff().to(of_words.dtype)
        shares = lengths.reciprocal()[_predictor_of_word(next_words)]
        # Sums, because a batch without predictors has no mean.
        words = (F.logsigmoid(of_words) * shares).sum()
        of_all = F.logsigmoid(-of_noise).sum(0, dtype=torch.promote_types(of_noise.dtype, F32))
        others = (of_all * noise.counts).sum() * (self.config.negatives / len(noise.of_draw))
        accuracy, is_any = _accuracy(of_words.detach(), of_noise.detach(), noise, next_words)
        return ObjectiveResult(
            loss=-(words + others) / max(len(decoded), 1),
            accuracy=accuracy,
            chance=0.5 * is_any,
            num_anchors=num_anchors,
        )

    def constrain(self) -> dict[str, Tensor]:
        """Moves the decoder's projection towards orthonormality; returns how far it is from it."""
        self.decoder.constrain()
        return {"orthonormality": self.decoder.orthonormality()}


class _PairScores(torch.autograd.Function):
    """Sums over pairs are embedding bags, and scores are the gradient of a bag's weights.

    So neither direction forms the [M, E] vectors of all pairs, which plain autograd would gather
    and scatter.
    """

    @staticmethod
    def forward(ctx: Any, decoded: Tensor, vectors: Tensor, next_words: NextWords) -> Tensor:
        ctx.next_words, ctx.vectors = next_words, vectors
        weights = decoded.new_ones(len(next_words.words)).requires_grad_()
        with torch.enable_grad():
            sums = _weighted_sums(vectors, next_words, weights)
        (scores,) = torch.autograd.grad(sums, weights, decoded)
        return scores

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _weighted_sums(ctx.vectors, ctx.next_words, gradients[0]), None, None


def _weighted_sums(vectors: Tensor, next_words: NextWords, weights: Tensor) -> Tensor:
    """Returns Σ_m weight_m v_m over each predictor's words, [P, E]."""
    return F.embedding_bag(
        next_words.words,
        vectors,
        next_words.offsets,
        mode="sum",
        per_sample_weights=weights,
        include_last_offset=True,
    )


def pair_scores(decoded: Tensor, vectors: Tensor, next_words: NextWords) -> Tensor:
    """Returns x_iᵀ v_w of each word to predict, [M]; differentiable in ``decoded``.

    Args:
        decoded: [P, E]; x of each predictor.
        vectors: [T, E]; of the distinct words, frozen.
        next_words: says which predicts which.
    """
    scores: Tensor = _PairScores.apply(decoded, vectors, next_words)
    return scores


def _predictor_of_word(next_words: NextWords) -> Tensor:
    """Returns the row of each word's predictor, [M]."""
    lengths = next_words.offsets.diff()
    rows = torch.arange(len(lengths), device=lengths.device)
    return rows.repeat_interleave(lengths, output_size=len(next_words.words))


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """What was drawn: frequent words many times, of which each is scored once."""

    word_ids: Tensor
    """[N]; the words."""
    of_draw: Tensor
    """[S]; which of them each draw is."""
    counts: Tensor
    """[N]; draws of each."""


def distinct(draws: Tensor) -> Noise:
    """Returns the words drawn [S], each once; on a GPU, which would wait for their number, all."""
    if draws.device.type == "cpu":
        return Noise(*torch.unique(draws, return_inverse=True, return_counts=True))
    return Noise(draws, torch.arange(len(draws), device=draws.device), torch.ones_like(draws))


def _accuracy(
    of_words: Tensor, of_noise: Tensor, noise: Noise, next_words: NextWords
) -> tuple[Tensor, Tensor]:
    """Returns the share of known words that score above noise, and whether there are any.

    Word m meets draw m mod S. The draws are independent of one another and of the words, so each
    such comparison is as good as one with a draw of its own.

    Args:
        of_words: [M]; the scores of the words to predict.
        of_noise: [P, N]; those of the words drawn.
        noise: the words drawn.
    """
    draws = torch.arange(len(of_words), device=of_words.device) % len(noise.of_draw)
    drawn = noise.of_draw[draws]
    rivals = of_noise[_predictor_of_word(next_words), drawn]
    word_ids = next_words.word_ids.index_select(0, next_words.words)
    # A word that meets itself is no better, whichever of two products rounded its score up.
    is_equal = (of_words == rivals) | (word_ids == noise.word_ids[drawn])
    wins = (of_words > rivals).to(of_words.dtype).masked_fill(is_equal, 0.5)
    is_known = word_ids != 0
    num_known = is_known.sum()
    return (wins * is_known).sum() / num_known.clamp(min=1), num_known > 0


# The words that a prediction is told from.


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

    def set_word_counts(self, counts: Tensor) -> None:
        """Sets the frequencies.

        Args:
            counts: [V]; occurrences of each word. That of id 0, the unknown word, is not used.

        Raises:
            ValueError: no word occurs.
        """
        assert counts.shape == self.cumulative.shape, f"of {len(self.cumulative)} words"
        known = counts.to("cpu", torch.float64, copy=True)
        known[:1] = 0.0
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
        """
        generator = None if self.training else torch.Generator().manual_seed(EVALUATION_SEED)
        # Drawn on the CPU, so that one seed gives one result on every device.
        places = torch.randint(RESOLUTION, (count,), generator=generator)
        return torch.searchsorted(self.cumulative, places.to(self.cumulative.device), right=True)


class JointObjective(Objective):
    """The sum of both losses; the first view serves both."""

    def __init__(self, config: TrainingConfig, sizes: Sizes) -> None:
        """Makes both.

        Args:
            config: with ``generative_weight``, of that loss beside the other one; the paper does
                not say.

        Raises:
            ValueError: see `DiscriminativeObjective`.
        """
        super().__init__()
        self.generative = GenerativeObjective(config, sizes)
        self.discriminative = DiscriminativeObjective(config, sizes)
        self.generative_weight = config.generative_weight

    @property
    def decoder(self) -> Decoder:
        """That of the generative objective."""
        return self.generative.decoder

    def set_word_counts(self, counts: Tensor) -> None:
        """See `GenerativeObjective`."""
        self.generative.set_word_counts(counts)

    def forward(
        self, views: Sequence[Tensor], context: SentenceContext, look_up: LookUp
    ) -> ObjectiveResult:
        """Returns the sum of the losses; accuracy, chance and anchors of the discriminative one.

        Args:
            views: of each sentence, [B, H] each.
            context: of these sentences, with their next words.
            look_up: gives the frozen word vectors.
        """
        words = self.generative(views, context, look_up)
        pairs: ObjectiveResult = self.discriminative(views, context, look_up)
        return ObjectiveResult(
            loss=pairs.loss + self.generative_weight * words.loss,
            accuracy=pairs.accuracy,
            chance=pairs.chance,
            num_anchors=pairs.num_anchors,
            measures={
                **words.measures,
                **pairs.measures,
                "generative_loss": words.loss.detach(),
                "discriminative_loss": pairs.loss.detach(),
            },
        )

    def constrain(self) -> dict[str, Tensor]:
        """Puts the parameters of both back to where they must lie; returns scalars for the log."""
        return {**self.generative.constrain(), **self.discriminative.constrain()}
