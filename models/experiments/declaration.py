"""What a table is made of: rows, columns, and which published figures stand beside which row.

A paper's tables are declared in a file of their own, as values of these classes. Nothing here is
trained or read; `tasks.experiments` makes what is declared. Loads no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from models.encoding.encoder_names import BAG_OF_WORDS, SIF
from models.experiments.columns import Column, Fact

# What is scored.


@dataclass(frozen=True, slots=True)
class Training:
    """What is trained. Two of equal preset, views and changes are one training in all tables."""

    name: str
    """In tables and messages."""
    preset: str
    """Of `models.config.training_presets`."""
    views: tuple[str, ...] = ()
    """() takes the preset's."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the preset that make it this one."""
    corpus: Literal["given", "second"] = "given"
    """The run's text, or a second one that may be given, too (``--second-corpus``)."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained model, once a seed."""

    training: Training
    words: Literal["trained", "expanded", "ensemble"] = "trained"
    """Its own; more of them by `ExpandVocabulary`; or given and expanded ones side by side."""


@dataclass(frozen=True, slots=True)
class Untrained:
    """The same architecture with random weights, once a seed of ``--random-seeds``."""

    training: Training


@dataclass(frozen=True, slots=True)
class Ready:
    """An encoder that needs no training: ``bag_of_words``, ``sif``, ``english``, a folder …"""

    name: str


@dataclass(frozen=True, slots=True)
class Joined:
    """Views of models that were trained apart, side by side, once a seed."""

    parts: tuple[tuple[Training, str], ...]
    """Training and view, the view with its place: ``0-SEQ``."""


@dataclass(frozen=True, slots=True)
class NotHere:
    """A model that cannot be had here: its row has published figures alone."""

    reason: str
    """In words, for the table: ``trained with labels``."""


Encoder = Trained | Untrained | Ready | Joined | NotHere

WORDS = Ready(BAG_OF_WORDS)
"""The mean of the run's word vectors."""
SIF_WORDS = Ready(SIF)
"""The same of vectors of length 1, weighted by smooth inverse frequency."""


# What stands in the table.


@dataclass(frozen=True, slots=True)
class Published:
    """Which rows of ``data/published`` stand beside a row: those with all of these, any corpus."""

    model: str
    part: str = ""
    """What of the model answers: ``en``, ``de``, ``ensemble``; empty where the paper has one."""
    component: str = ""
    """``removed`` or ``kept``, of the top principal component; empty where it is no question."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: which encoder is scored, and what of it."""

    title: str
    encoder: Encoder
    taken: str = ""
    """What of it, in words: ``z_en``; rows of one title are told apart by it."""
    group: str = ""
    """Heading under which rows stand together; empty: none."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Of the experiment's representation: views, components, join_words, project_to_width …"""
    published: Published | None = None
    """None where no paper has it."""
    seeded: tuple[str, ...] = ()
    """Fields of the representation that take the row's seeds, such as ``projection_seed``; an
    encoder without seeds of its own is then scored once a seed of ``--random-seeds``."""

    @property
    def full_title(self) -> str:
        """The row in one line."""
        return f"{self.title}, {self.taken}" if self.taken else self.title

    @property
    def trainings(self) -> tuple[Training, ...]:
        """What must be trained for it."""
        match self.encoder:
            case Trained(training=training):
                return (training,)
            case Joined(parts=parts):
                return tuple(training for training, _ in parts)
        return ()

    @property
    def architecture(self) -> Training | None:
        """The training whose model it is, trained or not; None where it is no single one's."""
        match self.encoder:
            case Trained(training=training) | Untrained(training=training):
                return training
        return None


@dataclass(frozen=True, slots=True)
class Scale:
    """On what, and how large, something was trained; None where nobody says or none applies."""

    corpus: str = ""
    sentences: float | None = None
    words: float | None = None
    vectors: str = ""
    """Which word vectors, in words."""
    width: int | None = None
    """Of a view, both directions together."""
    epochs: float | None = None


@dataclass(frozen=True, slots=True)
class PaperScale:
    """The scale of a paper's own models on one corpus."""

    paper: str
    """Letter with which sources begin: A, B or C."""
    scale: Scale
    """Its corpus is called as in ``data/published``."""


@dataclass(frozen=True, slots=True)
class Note:
    """What a reader must know of some figures alone: it is said where they stand."""

    text: str
    columns: tuple[str, ...] = ()
    """Said where one of these is a column; () says it whatever the columns are."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table."""

    name: str
    """Of its folder: lower case with hyphens."""
    title: str
    tables: tuple[str, ...]
    """Of the papers, as sources in ``data/published`` begin: ``B, table 3``; () takes all."""
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    scales: tuple[PaperScale, ...] = ()
    notes: tuple[str | Note, ...] = ()
    """What a reader must know of this table: tuned on what, which mean, which formula."""
    representation: str = "plain"
    """Of `models.evaluation.representation`."""
    grid_scale: float = 1.0
    """Factor on SentEval's grid of C: 4 suits views of length 1, as ``multi-view`` has them."""
    best_by: Fact | None = None
    """The trained row that is best by this is marked, where all have it; None marks none."""

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Everything that is trained, each once, in the order of the rows."""
        found: list[Training] = []
        for row in self.rows:
            found += [one for one in row.trainings if one not in found]
        return tuple(found)
