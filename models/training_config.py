"""Everything that determines a training's result, field by field with its source.

Sources: A = Simoulin & Crabbé 2021 (structured views), Q = Logeswaran & Lee 2018 (QuickThoughts,
A's baseline). Where a paper leaves a value open, the docstring says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from models.config_fields import check_choices, checked_fields
from models.corpus.held_out import HeldOutUnit, HoldOut
from models.variants import (
    Anchor,
    Critic,
    DepCell,
    Embeddings,
    Init,
    KeptWeights,
    Normalise,
    Precision,
    Schedule,
    Targets,
    WordInit,
    WordVectorUse,
)
from models.views import VIEWS

TRAINING_VERSION = 2
"""Raised when the same configuration, corpus and word vectors would train to another model."""


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """A contrastive training of two views. Machine settings are not here; see `RunSettings`."""

    views: tuple[str, str] = ("DEP", "CONST")
    """A, section Language views: the anchor's view and its context's."""
    hidden_size: int = 256
    """Width of a view. A, section Experiments: 4800 over two views and two vocabularies, on UMBC; a
    small corpus does not fill that."""
    word_vectors: WordVectorUse = "frozen"
    """A, section Experiments: pretrained and frozen, or trained from Xavier's initialisation."""
    trained_word_size: int = 300
    """Dimensions of trained word vectors (A: 300); frozen ones bring their own."""
    trained_word_init: WordInit = "xavier"
    """A, section Experiments: Xavier; Q: uniform within 0.1 of zero."""
    trained_words: int | None = None
    """Only so many words are trained, the first of the file of word vectors, which is in order of
    frequency; the others are unknown. A, section Experiments, and Q: 50,000. None trains all.

    Differs from A and Q, which at inference expand the vocabulary to two million words by a linear
    map from pretrained vectors."""
    embeddings: Embeddings = "shared"
    """Whether the views share trained word vectors (open in A) or have their own (Q: "a distinct
    set of embeddings for each encoder", as A's Method puts it). Frozen ones are the same."""
    vector_rms: float | None = 0.35
    """Root mean square of a component to which frozen vectors are scaled; None leaves them.

    Open in A. Measured: word2vec vectors scaled to about 0.35 train; the same at 1.0 do not."""
    batch_size: int = 400
    """Successive sentences in a batch (A, section Experiments; Q)."""
    context_size: int = 1
    """Sentences to either side that count as context (A, section Contrastive learning; Q)."""
    gather_negatives: bool = True
    """Whether all sentences of a batch are candidates, on any number of devices, or those of one of
    its parts alone. A and Q trained on one device."""
    parts: int = 1
    """Parts of a batch if negatives are not gathered; each is computed on a device of its own."""
    epochs: int = 3
    """Open in A; Q passes once over its books. On the embedded corpus the held-out loss falls for
    three epochs and no further."""
    max_tokens: int | None = 50
    """Longer sentences are skipped (Q; open in A)."""
    learning_rate: float = 2e-3
    """Of Adam. A and Q: 5e-4; at a hundredth of their data 2e-3 with decay learns faster."""
    schedule: Schedule = "linear"
    """How the learning rate falls to zero; A and Q keep it constant."""
    warmup_fraction: float = 0.05
    """Share of the steps over which the learning rate, constant or falling, first rises."""
    weight_decay: float = 0.0
    """L2 penalty in Adam; a later text of A has 1e-4."""
    gradient_clip: float | None = 5.0
    """Largest gradient norm (Q: 5.0; open in A); None does not clip."""
    word_dropout: float = 0.0
    """Share of each token's word vector that is zeroed in training. A, section
    Experiments: no dropout."""
    precision: Precision = "float32"
    """Of the encoders' products: float32; tf32, which a GPU rounds to (on a CPU it is float32);
    bfloat16, in which the objective stays float32 (under tf32 its products are rounded as well).
    Weights and word vectors are float32. Open in A and Q."""
    normalise: Normalise = "batch_norm"
    """What happens to a view before the critic. A: none."""
    symmetric: bool = True
    """Whether each view also predicts the other's context; A trains one side."""
    critic: Critic = "bilinear"
    """A, section Contrastive learning: bilinear; Q: inner product."""
    anchor: Anchor = "excluded"
    """The anchor among its own candidates: left out (a later text of A) or with score 0 (Q)."""
    targets: Targets = "soft"
    """Several neighbours: soft targets, equal over them, in one softmax (Q; A trains "using the
    contrastive objective from" Q), or each against the negatives alone (A's formula)."""
    bidirectional: bool = False
    """Whether SEQ reads both ways, half of the width each (Q: 600 a direction). A: one way."""
    dep_cell: DepCell = "child_sum"
    """A, section Language views: Child-Sum; a later text of A: attentive. Of DEP only."""
    init: Init = "xavier"
    """A, section Experiments: Xavier; a later text of A: uniform; xavier_open: forget gates' biases
    1 (B)."""
    held_out_fraction: float = 0.3
    """Share of documents, or of blocks, that are never trained on."""
    held_out_seed: int = 0
    """Of the choice of held-out documents; apart from ``seed``, so that runs are comparable."""
    held_out_unit: HeldOutUnit = "document"
    """Whole documents are held out, or blocks of sentences where documents are few."""
    held_out_block_sentences: int = 50
    """Length of such a block."""
    held_out_batches: int = 100
    """At most so many batches measure the held-out context accuracy."""
    held_out_every_steps: int | None = None
    """Measures also at every multiple of so many steps, not only before the first epoch and after
    each; with one epoch there is else no choice of a best step."""
    keep: KeptWeights = "last"
    """Which weights are the result: the last, or those of the lowest held-out loss. Open in A and
    Q."""
    seed: int = 0
    """Of the initial weights and of the batches' order."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "views", tuple(self.views))
        self._check_choices()
        self._check_numbers()
        _ = self.hold_out  # checks its own settings

    def _check_choices(self) -> None:
        if len(self.views) != 2 or any(view not in VIEWS for view in self.views):
            raise ValueError(f"views must be two of {', '.join(VIEWS)}, not {self.views}")
        check_choices(self)
        if self.bidirectional and self.hidden_size % 2:
            raise ValueError(
                f"hidden_size must be even if bidirectional is true, not {self.hidden_size}"
            )
        if self.keep == "best" and not self.held_out_batches:
            raise ValueError("keep best needs held_out_batches of at least 1, not 0")

    def _check_numbers(self) -> None:
        for name in ("hidden_size", "trained_word_size", "context_size", "epochs", "parts"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.gather_negatives and self.parts > 1:
            raise ValueError(f"parts must be 1 if gather_negatives is true, not {self.parts}")
        if self.batch_size < 2:
            raise ValueError(f"batch_size must be at least 2, not {self.batch_size}")
        for name in ("max_tokens", "held_out_every_steps", "trained_words"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        for name in ("learning_rate", "vector_rms", "gradient_clip"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be positive, not {value}")
        for name in ("weight_decay", "held_out_batches", "seed"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)}")
        for name in ("warmup_fraction", "held_out_fraction", "word_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must lie in [0, 1), not {getattr(self, name)}")

    @property
    def hold_out(self) -> HoldOut:
        """Which sentences are never trained on."""
        return HoldOut(
            self.held_out_fraction,
            self.held_out_seed,
            self.held_out_unit,
            self.held_out_block_sentences,
        )

    def check_processes(self, processes: int) -> None:
        """Refuses a number of processes that would train to another model.

        Raises:
            ValueError: negatives are not gathered, and there is not one process a part.
        """
        if not self.gather_negatives and processes != self.parts:
            raise ValueError(
                f"without gather_negatives each part of a batch takes a process of its own: parts "
                f"is {self.parts}, processes is {processes}; make them equal"
            )

    @property
    def pair_width(self) -> int:
        """Width of the embedding of a sentence: both views side by side."""
        return len(self.views) * self.hidden_size

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON knows them."""
        return {**asdict(self), "views": list(self.views)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainingConfig:
        """Returns the configuration with these fields; the others take their defaults.

        Raises:
            ValueError: an unknown field, or a value of another type or out of range.
        """
        return cls(**checked_fields(cls, values, "training"))


PRESETS: dict[str, TrainingConfig] = {
    "laptop": TrainingConfig(),
    "structured-views": TrainingConfig(
        hidden_size=1200,
        trained_words=50_000,
        vector_rms=None,
        epochs=1,
        learning_rate=5e-4,
        schedule="constant",
        warmup_fraction=0.0,
        gradient_clip=None,
        normalise="none",
        symmetric=False,
        targets="each",
    ),
    "quickthoughts": TrainingConfig(
        views=("SEQ", "SEQ"),
        hidden_size=1200,
        bidirectional=True,
        vector_rms=None,
        trained_word_init="uniform",
        trained_words=50_000,
        embeddings="separate",
        epochs=1,
        learning_rate=5e-4,
        schedule="constant",
        warmup_fraction=0.0,
        normalise="none",
        symmetric=False,
        critic="inner_product",
        anchor="zeroed",
    ),
}
"""``laptop`` is made for some ten thousand sentences on two cores; ``structured-views`` is A as
published, ``quickthoughts`` is Q, A's baseline. Their values stand in the fields' docstrings.

A says both that it uses Q's objective, whose targets are soft, and, by its formula, that a positive
stands against the negatives alone; ``structured-views`` takes the formula."""


def preset(name: str, **changes: Any) -> TrainingConfig:
    """Returns a preset with some fields changed.

    Raises:
        ValueError: no such preset or field, or a value of another type or out of range.
    """
    if name not in PRESETS:
        raise ValueError(f"unknown training preset {name!r}; known: {', '.join(PRESETS)}")
    return replace(PRESETS[name], **checked_fields(TrainingConfig, changes, "training"))
