"""One step of learning: gradients of a batch, reduced over the ranks, then Adam at its rate.

Tables of words are moved by the rows that a batch used.

And how often the model then answers right what its objective asks, on held-out sentences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.corpus.parsed_corpus import ParsedCorpus
from treeviews.models.model.ranks import Ranks, reduce_joint_gradients
from treeviews.models.model.sentence_model import SentenceModel, TrainingBatch
from treeviews.models.training.batches import cut
from treeviews.models.words.word_embedding import WordEmbedding

_FUSED_DEVICES = frozenset({"cpu", "cuda"})
"""Where PyTorch has Adam as one kernel."""
BETAS, EPS = (0.9, 0.999), 1e-8
"""Of the moments, and what is added to the root of the second, as in PyTorch's Adam."""
_CLIP_EPS = 1e-6
"""As in PyTorch's clipping."""


class Learner:
    """A model, its optimiser, and the ranks that train it together."""

    def __init__(self, model: SentenceModel, ranks: Ranks) -> None:
        """Args: model: on the device where it stays."""
        self.model = model
        self._ranks = ranks
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimisers = _optimisers(model)

    def measure(self, batch: TrainingBatch) -> dict[str, float]:
        """Computes the gradients of a batch; returns its loss and what else a record says of it.

        All ranks return the same numbers.
        """
        for parameter in self._parameters:
            parameter.grad = None
        result = self.model(batch, self._ranks)
        result.loss.backward()
        reduce_joint_gradients(self.model.encoder, self.model.objective, self._ranks)
        norm = nn.utils.get_total_norm(self._gradients(), foreach=True)
        # Together, so that a device is waited for once.
        further = result.measures
        values = torch.stack(
            [
                value.detach().to(result.loss.dtype)
                for value in (result.loss, result.accuracy, result.chance, norm, *further.values())
            ]
        )
        # One rank that thought a norm finite, or clipped by another, would go a way of its own.
        values = self._ranks.of_first(values)
        names = ("loss", "in_batch_accuracy", "chance", "gradient_norm", *further)
        return dict(zip(names, values.tolist(), strict=True))

    def apply(self, learning_rate: float, gradient_norm: float) -> dict[str, float]:
        """Clips the gradients that `measure` has left and moves the weights.

        Returns:
            What the objective measures of the moved weights, by name.
        """
        limit = self.model.config.gradient_clip
        if limit is not None and gradient_norm > limit:
            factor = limit / (torch.tensor(gradient_norm) + _CLIP_EPS)
            torch._foreach_mul_(self._gradients(), factor.to(self.model.device))
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = learning_rate
            optimiser.step()
        return {name: value.item() for name, value in self.model.objective.constrain().items()}

    def _gradients(self) -> list[Tensor]:
        """Returns the values of all gradients, without the rows that sparse ones leave out."""
        values = []
        for parameter in self._parameters:
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = parameter.grad.coalesce()
                values.append(parameter.grad.values())
            elif parameter.grad is not None:
                values.append(parameter.grad)
        return values


def _optimisers(model: SentenceModel) -> list[torch.optim.Optimizer]:
    """Returns what moves the weights: Adam by rows for tables of words, Adam for the rest."""
    of_words = [m for m in model.modules() if isinstance(m, WordEmbedding)]
    tables = [p for words in of_words for p in words.parameters() if p.requires_grad]
    known = set(map(id, tables))
    others = [p for p in model.parameters() if p.requires_grad and id(p) not in known]
    rate, decay = model.config.learning_rate, model.config.weight_decay
    found: list[torch.optim.Optimizer] = []
    if others:
        fused = others[0].device.type in _FUSED_DEVICES
        found.append(torch.optim.Adam(others, lr=rate, weight_decay=decay, fused=fused))
    if tables:
        found.append(RowAdam(tables, lr=rate, weight_decay=decay))
    return found


class RowAdam(torch.optim.Optimizer):
    """Adam over the rows of a table that a batch has used; a row of zeros has no gradient.

    A batch has a few thousand words of a vocabulary of tens of thousands, so that most of a dense
    step over the table would be spent on rows without a gradient. Differs from Adam (Kingma & Ba
    2015) in that the moments of a row do not fade, and the row does not move, in steps that do not
    use it; PyTorch's ``SparseAdam`` is alike.

    So it makes no difference whether a gradient is sparse or dense, nor how many processes it is
    the sum of.
    """

    def __init__(
        self,
        tables: Iterable[Tensor],
        lr: float,
        weight_decay: float = 0.0,
    ) -> None:
        """Takes the tables.

        Args:
            tables: [V, E] each.
            lr: the learning rate.
            weight_decay: L2 penalty of the rows that move.
        """
        super().__init__(tables, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Moves the rows; closures are not known."""
        assert closure is None
        for group in self.param_groups:
            first, second = BETAS
            for table in group["params"]:
                if table.grad is None:
                    continue
                state = self.state[table]
                if not state:
                    state["step"] = torch.zeros((), dtype=torch.int64)
                    state["exp_avg"] = torch.zeros_like(table)
                    state["exp_avg_sq"] = torch.zeros_like(table)
                state["step"] += 1
                step = int(state["step"])
                rows, gradient = _used_rows(table.grad)
                if group["weight_decay"]:
                    gradient = gradient.add(table[rows], alpha=group["weight_decay"])
                mean = state["exp_avg"][rows].lerp_(gradient, 1 - first)
                square = state["exp_avg_sq"][rows].mul_(second)
                square.addcmul_(gradient, gradient, value=1 - second)
                state["exp_avg"][rows] = mean
                state["exp_avg_sq"][rows] = square
                root = square.sqrt_().div_(math.sqrt(1 - second**step)).add_(EPS)
                table[rows] -= mean.div_(root).mul_(group["lr"] / (1 - first**step))


def _used_rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Returns which rows have a gradient, [R] ascending, and their gradients, [R, E]."""
    if gradient.is_sparse:
        gradient = gradient.coalesce()
        rows, values = gradient.indices()[0], gradient.values()
    else:
        rows, values = torch.arange(len(gradient), device=gradient.device), gradient
    is_used = values.ne(0).any(1)
    return rows[is_used], values[is_used]


def learning_rate_at(step: int, num_steps: int, config: TrainingConfig) -> float:
    """Returns the learning rate of a step.

    It rises linearly over the warm-up, then stays (``constant``) or falls to zero after the last
    step, along a line or half a cosine.

    Args:
        step: 0 for the first one.
        num_steps: steps of the whole training.
    """
    warmup = round(config.warmup_fraction * num_steps)
    if step < warmup:
        return config.learning_rate * (step + 1) / (warmup + 1)
    done = (step - warmup) / max(1, num_steps - warmup)
    factor = {
        "constant": 1.0,
        "linear": 1.0 - done,
        "cosine": (1.0 + math.cos(math.pi * done)) / 2,
    }[config.schedule]
    return config.learning_rate * factor


def held_out_accuracy(
    model: SentenceModel,
    corpus: ParsedCorpus,
    *,
    max_batches: int | None = None,
    sentences_at_once: int | None = None,
) -> dict[str, Any]:
    """Returns how well a model does on a corpus, in evaluation mode, as a record of the metrics.

    ``accuracy`` is the share of anchors whose best-scored candidate is a true neighbour, or, where
    words are predicted, of words of the next sentence that score higher than noise; ``chance`` the
    same share for guesses. With ``loss`` they are means over batches, each weighted by its anchors:
    its sentences that have context there.

    Args:
        corpus: opened with the part ``held_out``.
        max_batches: only the first so many batches; all by default.
        sentences_at_once: most that are encoded at once; all of a batch by default.
    """
    size = model.config.batch_size
    batches = (
        block.slice(start, stop)
        for block in corpus.blocks()
        for start, stop in cut(len(block), size)
    )
    totals = torch.zeros(4, dtype=torch.float64)
    num_sentences = 0
    was_training = model.training
    model.eval()
    with torch.no_grad():
        for block in islice(batches, max_batches):
            result = model.result_of(block, sentences_at_once)
            anchors = float(result.num_anchors)
            means = [float(result.accuracy), float(result.chance), float(result.loss), 1.0]
            totals += torch.tensor(means, dtype=torch.float64) * anchors
            num_sentences += len(block)
    model.train(was_training)
    accuracy, chance, loss = (totals[:3] / totals[3].clamp(min=1)).tolist()
    return {
        **{"accuracy": accuracy, "chance": chance, "loss": loss},
        **{"num_anchors": int(totals[3]), "num_sentences": num_sentences},
    }
