"""What a table of an experiment is made of: rows, columns, published figures beside them; sweeps.

The papers' tables are declared in TOML beside their figures, ``data/published/*.toml``:

- ``columns``, ``notes``: lists of columns and texts that tables name; a note with ``columns`` is
  said where one of these stands.
- ``scales``: on what the papers' own models were trained.
- ``trainings``: what is trained, by name: a preset, views, changes.
- ``variants``: what is taken of an encoder, by name: fields of a row. ``encoder`` is ``trained``,
  ``expanded``, ``ensemble``, ``untrained``, or one that needs no training.
- ``tables``: each with rows. Of every training in ``of`` a row stands for each variant in ``as``,
  with the fields that the line sets for all. ``not_here`` stands for the models of others that its
  tables have and that cannot be had here, with this reason or any.

Nothing here is trained or scored; `tasks.experiments` makes what is declared. Loads no torch.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import preset
from treeviews.models.encoding.encoder_names import BAG_OF_WORDS, SIF
from treeviews.models.report.table_columns import Column, Fact, Published, columns, published_rows
from treeviews.pipeline.base.bundled import PUBLISHED_FIGURES

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


Words = Literal["trained", "expanded", "ensemble"]


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained model, once a seed."""

    training: Training
    words: Words = "trained"
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
    """On what, and how large, something was trained; None where nobody says or none applies.

    Whole numbers stay whole when a table is read again.
    """

    corpus: str = ""
    sentences: int | float | None = None
    words: int | float | None = None
    vectors: str = ""
    """Which word vectors, in words."""
    width: int | None = None
    """Of a view, both directions together."""
    epochs: int | float | None = None


@dataclass(frozen=True, slots=True)
class PaperScale:
    """The scale of a paper's own models on one corpus."""

    paper: str
    """Letter with which sources begin: A, B or C."""
    scale: Scale
    """Its corpus is called as in ``data/published``."""


@dataclass(frozen=True, slots=True)
class Note:
    """What a reader must know of a table: tuned on what, which mean, which formula."""

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
    notes: tuple[Note, ...] = ()
    representation: str = "plain"
    """Of `models.evaluation.representation`."""
    grid_scale: float = 1.0
    """Factor on SentEval's grid of C: 4 suits views of length 1, as ``multi-view`` has them."""
    best_by: Fact | None = None
    """The trained row that is best by this is marked, where all have it; None marks none."""

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Everything that is trained, each once, in the order of the rows."""
        trainings: list[Training] = []
        for row in self.rows:
            trainings += [one for one in row.trainings if one not in trainings]
        return tuple(trainings)


# The papers' tables.


@cache
def paper_tables(folder: Path = PUBLISHED_FIGURES) -> dict[str, Experiment]:
    """Returns the declared tables by name.

    Raises:
        ValueError: a declaration that cannot be read; names the file.
    """
    tables: dict[str, Experiment] = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            declared = tomllib.loads(path.read_text(encoding="utf-8"))
            tables |= {table["name"]: _table(table, declared) for table in declared["tables"]}
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from error
    return tables


def _table(table: Mapping[str, Any], shared: Mapping[str, Any]) -> Experiment:
    lists, notes = shared["columns"], shared["notes"]
    names = (name for listed in table["columns"] for name in lists.get(listed, [listed]))
    said = (notes.get(note, {"text": note}) for note in table["notes"])
    scales = ({**scale} for scale in shared["scales"])
    return Experiment(
        table["name"],
        table["title"],
        tuple(table["sources"]),
        tuple(row for line in table["rows"] for row in _rows(line, table["sources"], shared)),
        columns(*names),
        tuple(PaperScale(scale.pop("paper"), Scale(**scale)) for scale in scales),
        tuple(Note(note["text"], tuple(note.get("columns", ()))) for note in said),
        shared.get("representation", "plain"),
        shared.get("grid_scale", 1.0),
    )


def _rows(
    line: Mapping[str, Any], sources: Sequence[str], shared: Mapping[str, Any]
) -> Iterator[Row]:
    """Yields the rows of one line of a table."""
    if "not_here" in line:
        yield from models_of_others(sources, line["not_here"], group=line["group"])
        return
    own = {name: value for name, value in line.items() if name not in {"of", "as"}}
    for name, variant in product(line.get("of", [""]), line["as"]):
        chosen = shared["variants"][variant]
        taken = ", ".join(filter(None, (chosen.get("taken"), own.get("taken"))))
        changes = {**chosen.get("changes", {}), **own.get("changes", {})}
        yield _row(name, shared, **{**chosen, **own, "taken": taken, "changes": changes})


def _row(
    name: str,
    shared: Mapping[str, Any],
    *,
    encoder: str,
    title: str = "{}",
    published: str | bool = False,
    part: str = "",
    component: str = "",
    joined: Mapping[str, str] | None = None,
    seeded: Sequence[str] = (),
    **given: Any,
) -> Row:
    model = name if published is True else published
    beside = Published(model, part, component) if model else None
    made = _encoder(encoder, name, shared["trainings"], joined or {})
    return Row(title.format(name), made, published=beside, seeded=tuple(seeded), **given)


def _encoder(
    kind: str, name: str, trainings: Mapping[str, Any], joined: Mapping[str, str]
) -> Encoder:
    def training(called: str) -> Training:
        settings = trainings[called]
        return Training(called, **{**settings, "views": tuple(settings.get("views", ()))})

    if joined:
        return Joined(tuple((training(part), view) for part, view in joined.items()))
    if kind == "untrained":
        return Untrained(training(name))
    if kind in ("trained", "expanded", "ensemble"):
        return Trained(training(name), kind)  # type: ignore[arg-type]
    return Ready(kind)


def models_of_others(tables: Sequence[str], reason: str = "", *, group: str = "") -> list[Row]:
    """Returns a row for each model of these tables that cannot be had here, for a reason or any."""
    models = {
        row.model: row
        for row in published_rows()
        if row.stands_in(tables) and row.not_here and reason in {"", row.not_here}
    }
    return [
        Row(name, NotHere(row.not_here), group=group, published=row.key)
        for name, row in models.items()
    ]


# Which configuration each training has.

WIDTH = "hidden_size"


def changes_of(
    training: Training, changes: Mapping[str, Any], width: int | None = None
) -> dict[str, Any]:
    """Returns what a training changes of its preset.

    Its own changes make it what it is, so those of all trainings yield to them; the width yields to
    none.

    Args:
        training: of a table.
        changes: of all trainings of the table.
        width: of each view, where it is given.
    """
    wide = {} if width is None else {WIDTH: width}
    return {**changes, **training.changes, **wide}


def config_of(training: Training, changes: Mapping[str, Any]) -> TrainingConfig:
    """Returns the configuration of a training; `changes_of` says which changes.

    Raises:
        ValueError: see `preset`.
    """
    views = {"views": training.views} if training.views else {}
    return preset(training.preset, **views, **changes)


def check_trainings(
    experiment: Experiment, changes: Mapping[str, Any], width: int | None = None
) -> None:
    """Refuses trainings that cannot be, or that are the same one under two names.

    Args:
        experiment: the table.
        changes: of all trainings, which may have made them so; likewise ``width``.
        width: see `changes_of`.

    Raises:
        ValueError: names the training and the field, or the two trainings.
    """
    if width is not None and WIDTH in changes:
        raise ValueError(f"--width and --changes both set {WIDTH}; give one of them")
    if width is not None and width < 1:
        raise ValueError(f"--width must be at least 1, not {width}")
    configs = []
    for training in experiment.trainings:
        try:
            config = config_of(training, changes_of(training, changes, width))
            config.check_trainable()
        except ValueError as error:
            raise ValueError(f"training {training.name}: {error}") from error
        configs.append((training, config))
    for (first, config), (second, other) in combinations(configs, 2):
        if config == other and first.corpus == second.corpus:
            raise ValueError(
                f"trainings {first.name} and {second.name} are the same; leave one out, or the "
                "field that --changes or --width made equal"
            )
