"""Tang & de Sa's two frameworks as plain PyTorch: padded batches, autograd, K negatives a word.

What is trained and what is minimised are the product's; how it is computed is what papers' code
usually does, and this is the measure that the product's speed is given against.

Legend: L words of the longest sentence, B sentences, P of them have the next one in the batch,
M words of those next ones, K negatives a word, E word dimension, d hidden of a direction, V words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.references.plain_bi_gru import PaddedBatch, PlainBiGRU
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.corpus.sentence_block import SentenceBlock


class PlainFramework(nn.Module, ABC):
    """Encoders, objective and step of one framework; word vectors are frozen."""

    def __init__(
        self,
        encoder: Callable[[int, int], PlainBiGRU],
        vectors: Tensor,
        config: TrainingConfig,
    ) -> None:
        """Args: vectors: [V, E]; as the encoders see them, row 0 zero."""
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding.from_pretrained(vectors, padding_idx=0)
        self.encoder = encoder(vectors.shape[1], config.hidden_size // 2)

    @abstractmethod
    def forward(self, batch: PaddedBatch) -> Tensor:
        """Returns the loss of a batch, a scalar."""

    @abstractmethod
    def named_as_here(self, model: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns the weights of our model, or their gradients, under this module's names."""

    def constrain(self) -> None:
        """Puts parameters back to where they must lie after a step of the optimiser, in place."""

    def take_weights(self, model: nn.Module) -> None:
        """Copies the weights of our model, leaving what is not trained."""
        with torch.no_grad():
            own = dict(self.named_parameters())
            for name, value in self.named_as_here(dict(model.named_parameters())).items():
                own[name].copy_(value)

    def _encoder_named_as_here(self, model: Mapping[str, Tensor]) -> dict[str, Tensor]:
        ours = _below("encoder.encoders.0.", model)
        named = self.encoder.named_as_here(ours)
        return {f"encoder.{name}": value for name, value in named.items()}


class PlainGenerative(PlainFramework):
    """Predicts the words of the next sentence by negative sampling (Tang & de Sa 2018, eq. 1)."""

    noise: Tensor

    def __init__(
        self,
        encoder: Callable[[int, int], PlainBiGRU],
        vectors: Tensor,
        config: TrainingConfig,
        word_counts: Tensor,
    ) -> None:
        """Args: word_counts: [V]; how often each word occurs in the corpus."""
        super().__init__(encoder, vectors, config)
        self.decoder = nn.Linear(config.hidden_size, vectors.shape[1], bias=False)
        noise = word_counts.to(vectors.dtype) ** config.noise_power
        noise[0] = 0
        self.register_buffer("noise", noise)

    def forward(self, batch: PaddedBatch) -> Tensor:
        """Returns the loss: the mean over predicting sentences of their words' mean."""
        predictors = _followed(batch)
        sentences = self.encoder(batch, self.embedding(batch.words))
        decoded = self.decoder(sentences[predictors])
        is_word = batch.is_word[:, predictors + 1]
        lengths = batch.lengths[predictors + 1]
        words = batch.words[:, predictors + 1][is_word]
        predictor = torch.arange(len(predictors), device=words.device).expand_as(is_word)[is_word]
        num_draws = len(words) * self.config.negatives
        negatives = torch.multinomial(self.noise, num_draws, replacement=True)
        x = decoded[predictor]  # [M, E]
        right = (self.embedding(words) * x).sum(1)
        wrong = torch.bmm(self.embedding(negatives.view(len(words), -1)), x[:, :, None]).squeeze(2)
        log_likelihood = F.logsigmoid(right) + F.logsigmoid(-wrong).sum(1)
        return -(log_likelihood / lengths[predictor]).sum() / len(predictors)

    @torch.no_grad()
    def constrain(self) -> None:
        """Moves the decoder's rows towards orthonormality (eq. 2)."""
        rate, weight = self.config.orthonormal_rate, self.decoder.weight
        weight.copy_((1 + rate) * weight - rate * (weight @ weight.T) @ weight)

    def named_as_here(self, model: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns our weights under this module's names."""
        decoder = model["objective.decoder.projection.weight"]
        return {**self._encoder_named_as_here(model), "decoder.weight": decoder}


class PlainDiscriminative(PlainFramework):
    """Finds a sentence's context among the batch (Tang & de Sa 2018, eq. 3)."""

    def __init__(
        self,
        encoder: Callable[[int, int], PlainBiGRU],
        vectors: Tensor,
        config: TrainingConfig,
    ) -> None:
        """Arguments as `PlainFramework`'s."""
        super().__init__(encoder, vectors, config)
        self.linear = nn.Linear(vectors.shape[1], config.hidden_size, bias=False)
        self.log_temperature = nn.Parameter(torch.zeros(()))

    def forward(self, batch: PaddedBatch) -> Tensor:
        """Returns the loss: the mean over all pairs of context, a sentence and itself included."""
        vectors = self.embedding(batch.words)
        mean = vectors.sum(0) / batch.lengths[:, None]
        views = (self.encoder(batch, vectors), self.linear(mean))
        iterations = self.config.power_iterations
        f, g = (F.normalize(without_top_component(view, iterations), dim=1) for view in views)
        agreement = f @ g.T + g @ f.T
        log_probability = (agreement / self.log_temperature.exp()).log_softmax(1)
        distance = (batch.sentence_index[:, None] - batch.sentence_index).abs()
        same_document = batch.documents[:, None] == batch.documents
        return -log_probability[same_document & (distance <= self.config.context_size)].mean()

    def named_as_here(self, model: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns our weights under this module's names."""
        return {
            **self._encoder_named_as_here(model),
            "linear.weight": model["encoder.encoders.1.projection.weight"],
            "log_temperature": model["objective.log_temperature"],
        }


def without_top_component(sentences: Tensor, iterations: int) -> Tensor:
    """Returns vectors [B, H] without their top principal component, by power iteration.

    Tang & de Sa 2018, appendix 2, algorithm 1 and its footnote: on the smaller Gram matrix. It
    starts where ours does, and like there no gradient goes through the component.
    """
    with torch.no_grad():
        start = 1 + 0.5 * torch.arange(len(sentences)).to(sentences).cos()
        is_wide = sentences.shape[0] < sentences.shape[1]
        gram = sentences @ sentences.T if is_wide else sentences.T @ sentences
        u = F.normalize(start if is_wide else sentences.T @ start, dim=0)
        for _ in range(iterations):
            u = F.normalize(gram @ u, dim=0)
        if is_wide:
            u = F.normalize(sentences.T @ u, dim=0)
    return sentences - torch.outer(sentences @ u, u)


class PlainStep:
    """A framework and its optimiser; in bfloat16 it computes under `torch.autocast`."""

    def __init__(self, framework: PlainFramework) -> None:
        """Args: framework: on the device where it stays."""
        self.framework = framework.train()
        self._parameters = [p for p in framework.parameters() if p.requires_grad]
        # As one kernel, like ours: what is compared is the model, not the optimiser.
        self._optimiser = torch.optim.Adam(
            self._parameters, lr=framework.config.learning_rate, fused=True
        )

    def prepare(self, block: SentenceBlock) -> PaddedBatch:
        """Returns a batch, on the CPU."""
        return PaddedBatch.of(block)

    def take(self, batch: PaddedBatch) -> float:
        """Takes one step of the training; returns the loss before it."""
        batch = batch.to(self._parameters[0].device)
        self._optimiser.zero_grad()
        config = self.framework.config
        is_low = config.precision == "bfloat16"
        with torch.autocast(batch.words.device.type, torch.bfloat16, enabled=is_low):
            loss: Tensor = self.framework(batch)
        loss.backward()
        if config.gradient_clip is not None:
            nn.utils.clip_grad_norm_(self._parameters, config.gradient_clip)
        self._optimiser.step()
        self.framework.constrain()
        return loss.item()


def _followed(batch: PaddedBatch) -> Tensor:
    """Returns the sentences whose next one stands after them in the batch, [P] int64."""
    same_document = batch.documents[1:] == batch.documents[:-1]
    is_next = batch.sentence_index[1:] - batch.sentence_index[:-1] == 1
    return (same_document & is_next).nonzero().squeeze(1)


def _below(prefix: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns those whose names begin with ``prefix``, without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in weights.items()
        if name.startswith(prefix)
    }
