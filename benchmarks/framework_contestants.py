"""The implementations of Tang & de Sa's frameworks that are compared, from equal weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

import torch

from benchmarks.corpus import random_vectors
from benchmarks.references.plain_bi_gru import PackedBiGRU, PaddedBiGRU, PlainBiGRU
from benchmarks.references.plain_frameworks import (
    PlainDiscriminative,
    PlainFramework,
    PlainGenerative,
    PlainStep,
)
from benchmarks.stopwatch import Spent
from treeviews.models.config.training_config import Precision, TrainingConfig
from treeviews.models.config.views import needed_stages
from treeviews.models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.model.ranks import ALONE
from treeviews.models.model.sentence_model import SentenceModel, TrainingBatch, build_model
from treeviews.models.training.batches import TrainingBatches
from treeviews.models.training.learner import Learner
from treeviews.models.training.numerics import GemmBackend
from treeviews.models.words.word_vectors import WordVectors

OURS = "ours"
REFERENCES: dict[str, type[PaddedBiGRU] | type[PackedBiGRU]] = {
    "plain": PaddedBiGRU,
    "packed": PackedBiGRU,
}
"""By the name in the last line's keys."""


@dataclass(frozen=True, slots=True)
class TrainingText:
    """Batches of a corpus, the same for all, with what is known of its words."""

    blocks: Sequence[SentenceBlock]
    vectors: WordVectors
    word_counts: torch.Tensor
    """[V] int64; in the whole corpus."""

    @property
    def words_per_sentence(self) -> float:
        """Mean over the batches' sentences."""
        return sum(len(b.token_ids) for b in self.blocks) / sum(map(len, self.blocks))

    @property
    def padding_percent(self) -> float:
        """Share of the positions of padded batches that are no words."""
        positions = sum(len(block) * int(block.lengths.max()) for block in self.blocks)
        return 100 * (1 - sum(len(block.token_ids) for block in self.blocks) / positions)


class Step(Protocol):
    """What an implementation does with sentences: makes a batch of them, and learns from it."""

    def prepare(self, block: SentenceBlock) -> Any:
        """Returns the batch, on the CPU; called from a thread."""

    def take(self, batch: Any) -> float:
        """Takes one whole step of the training; returns the loss before it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Some steps that an implementation took one after another."""

    steps: int
    sentences: int
    spent: Spent

    @property
    def sentences_per_second(self) -> float:
        """The turn's rate on the clock."""
        return self.sentences / self.spent.wall


@dataclass(eq=False)
class Contestant:
    """An implementation and what was measured of it."""

    name: str
    """`OURS`, or a key of `REFERENCES`."""
    views: tuple[str, ...]
    precision: Precision
    gemm: GemmBackend
    """Who multiplies float32 matrices on a CPU."""
    step: Step = field(repr=False)
    loss: float = 0.0
    """Before the first step."""
    turns: list[Turn] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What it is called while it is measured."""
        return f"{self.name} with {','.join(self.views)}, {self.precision}, gemm {self.gemm}"

    @property
    def sentences(self) -> int:
        """Of all turns."""
        return sum(turn.sentences for turn in self.turns)

    @property
    def spent(self) -> Spent:
        """By all turns."""
        return sum((turn.spent for turn in self.turns), start=Spent(0.0, 0.0))

    @property
    def sentences_per_second(self) -> float:
        """Of all turns together, on the clock."""
        return self.sentences / self.spent.wall

    @property
    def sentences_per_cpu_second(self) -> float:
        """Of all turns together, by the processor's time."""
        return self.sentences / self.spent.cpu


def read_text(
    folders: CorpusFolders,
    config: TrainingConfig,
    views: Sequence[str],
    *,
    word_size: int,
    num_batches: int,
) -> TrainingText:
    """Returns batches of a corpus in the order of a training, with random word vectors.

    Args:
        views: every sentence has the trees of all of them.

    Raises:
        ValueError: the corpus holds nothing to train on.
    """
    vectors = random_vectors(folders, word_size, config.seed)
    corpus = ParsedCorpus(folders, vectors, views=views, config=config)
    survey = corpus.survey()
    batches = TrainingBatches(
        corpus.read, survey.rows, batch_size=config.batch_size, seed=config.seed
    )
    if not batches.steps_per_epoch:
        raise ValueError(f"{folders.sentences.parent}: no shard of it holds two parsed sentences")
    epochs = -(-num_batches // batches.steps_per_epoch)
    blocks = list(islice(batches.from_step(0, epochs=epochs), num_batches))
    return TrainingText(blocks, vectors, torch.from_numpy(survey.word_counts))


def contestants(
    text: TrainingText,
    config: TrainingConfig,
    device: torch.device,
    *,
    precisions: Sequence[Precision],
    other_views: Sequence[str],
    backends: Sequence[GemmBackend],
) -> list[Contestant]:
    """Returns ours, its references, and ours with other views in the place of f.

    Args:
        config: of a generative or a discriminative training with a bidirectional SEQ as f.
        precisions: of ours and the references; other views have the first.
        other_views: each takes the place of SEQ once.
        backends: each implementation is measured with each of them.
    """
    found = []
    for precision in precisions:
        ours = _our_model(text, config.changed(precision=precision))
        steps: dict[str, Step] = {
            name: PlainStep(_plain(ours, text, encoder).to(device))
            for name, encoder in REFERENCES.items()
        }
        steps = {OURS: OurTraining(ours, device), **steps}
        for name, step in steps.items():
            found += [Contestant(name, config.views, precision, b, step) for b in backends]
    for view in other_views:
        views = (view, *config.views[1:])
        model = _our_model(text, config.changed(views=views, precision=precisions[0]))
        step = OurTraining(model, device)
        found += [Contestant(OURS, views, precisions[0], b, step) for b in backends]
    return found


class OurTraining:
    """The product's own pieces: `SentenceModel`, its batches, `Learner`."""

    def __init__(self, model: SentenceModel, device: torch.device) -> None:
        self._learner = Learner(model.to(device).train(), ALONE)
        self._device = device
        self._stages = needed_stages(model.config.views)

    def prepare(self, block: SentenceBlock) -> TrainingBatch:
        """See `Step`; trees that no view reads are left out, as a training would not read them."""
        if "dependencies" not in self._stages:
            block = replace(block, heads=None)
        if "constituents" not in self._stages:
            block = replace(block, binary_left=None, binary_right=None)
        return self._learner.model.training_batch(block)

    def take(self, batch: TrainingBatch) -> float:
        """See `Step`."""
        measured = self._learner.measure(batch.to(self._device))
        rate = self._learner.model.config.learning_rate
        self._learner.apply(rate, measured["gradient_norm"])
        return measured["loss"]


def _our_model(text: TrainingText, config: TrainingConfig) -> SentenceModel:
    model = build_model(config, text.vectors, config.seed)
    model.objective.set_word_counts(text.word_counts)
    return model


def _plain(
    model: SentenceModel, text: TrainingText, encoder: Callable[[int, int], PlainBiGRU]
) -> PlainFramework:
    """Returns a reference with the weights of our model."""
    config = model.config
    all_words = torch.arange(text.vectors.num_words)
    vectors = model.encoder.look_up(all_words)[0]
    plain: PlainFramework
    if config.objective == "generative":
        plain = PlainGenerative(encoder, vectors, config, text.word_counts)
    else:
        plain = PlainDiscriminative(encoder, vectors, config)
    plain.take_weights(model)
    return plain
