"""What a table of an experiment is made of: rows, columns, published figures beside them; sweeps.

The papers' tables are declared in TOML beside their figures, ``data/published/*.toml``:

- ``columns``, ``notes``: lists of columns and texts that tables name; a note with ``columns`` is
  said where one of these stands.
- ``scales``: on what the papers' own models were trained, by the paper's letter and its corpus.
- ``trainings``: what is trained, by name: a preset, views, changes.
- ``variants``: what is taken of an encoder, by name: fields of a row. ``encoder`` is ``trained``,
  ``expanded``, ``ensemble``, ``untrained``, or one that needs no training.
- ``tables``: each with rows; ``task`` is the root that makes it. Of every training in ``of`` a row
  stands for each variant in ``as``, with the fields that the line sets for all. ``not_here`` stands
  for the models of others that its tables have and that cannot be had here, with this reason or
  any.

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
from treeviews.models.evaluation.representation import in_words
from treeviews.models.report.table_columns import Column, Fact, Published, columns, published_rows
from treeviews.pipeline.base.bundled import PUBLISHED_FIGURES

TRAINED = ("trained", "expanded", "ensemble", "joined")
"""Encoders of trained models: with their own words; with more of them by `ExpandVocabulary`; given
and expanded words side by side; views of models that were trained apart, side by side."""
UNTRAINED = "untrained"
"""The architecture of a training with random weights, once a seed of ``--random-seeds``."""
NOT_HERE = "not here"
"""A model that cannot be had here: its row has published figures alone."""


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
class Row:
    """One row: which encoder is scored, and what of it."""

    title: str
    encoder: str
    """One of `TRAINED`, `UNTRAINED`, `NOT_HERE`, or the name of one that needs no training."""
    trainings: tuple[Training, ...] = ()
    """Whose model it is; of ``joined`` the models, one a view."""
    joined: tuple[str, ...] = ()
    """Views that are taken of joined models, each with its place: ``0-SEQ``."""
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
    reason: str = ""
    """Why it is not here, in words, for the table: ``trained with labels``."""

    @property
    def full_title(self) -> str:
        """The row in one line."""
        return f"{self.title}, {self.taken}" if self.taken else self.title

    @property
    def is_trained(self) -> bool:
        """Whether something is trained for it."""
        return self.encoder in TRAINED

    @property
    def architecture(self) -> Training | None:
        """The training whose model it is, trained or not; None where it is no single one's."""
        return self.trainings[0] if self.trainings and not self.joined else None


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
    scales: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By a paper's letter and its corpus: on what, and how large, its own models were trained."""
    notes: tuple[Mapping[str, Any], ...] = ()
    """What a reader must know: ``text``, said where one of its ``columns``, if any, is a column."""
    representation: str = "plain"
    """Of `models.evaluation.representation`."""
    grid_scale: float = 1.0
    """Factor on SentEval's grid of C: 4 suits views of length 1, as ``multi-view`` has them."""
    best_by: Fact | None = None
    """The trained row that is best by this is marked, where all have it; None marks none."""
    task: str = ""
    """The root that makes it."""

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Everything that is trained, each once, in the order of the rows."""
        trainings: list[Training] = []
        for row in self.rows:
            if row.is_trained:
                trainings += [training for training in row.trainings if training not in trainings]
        return tuple(trainings)


# The papers' tables.


@cache
def paper_tables(folder: Path = PUBLISHED_FIGURES) -> dict[str, Experiment]:
    """Returns the declared tables by name, those of A first.

    Raises:
        ValueError: a declaration that cannot be read; names the file.
    """
    tables: list[Experiment] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            declared = tomllib.loads(path.read_text(encoding="utf-8"))
            tables += [_table(table, declared) for table in declared["tables"]]
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from error
    return {
        table.name: table for table in sorted(tables, key=lambda table: "".join(table.tables)[:1])
    }


def _table(table: Mapping[str, Any], shared: Mapping[str, Any]) -> Experiment:
    lists, notes = shared["columns"], shared["notes"]
    names = (name for listed in table["columns"] for name in lists.get(listed, [listed]))
    return Experiment(
        table["name"],
        table["title"],
        tuple(table["sources"]),
        tuple(row for line in table["rows"] for row in _rows(line, table["sources"], shared)),
        columns(*names),
        shared["scales"],
        tuple(notes.get(note, {"text": note}) for note in table["notes"]),
        shared.get("representation", "plain"),
        shared.get("grid_scale", 1.0),
        task=table.get("task", ""),
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
    **fields: Any,
) -> Row:
    model = name if published is True else published
    of_training = list(joined or ([name] if encoder in (*TRAINED, UNTRAINED) else []))
    declared = {called: shared["trainings"][called] for called in of_training}
    return Row(
        title.format(name),
        "joined" if joined else encoder,
        tuple(
            Training(called, **{**settings, "views": tuple(settings.get("views", ()))})
            for called, settings in declared.items()
        ),
        tuple((joined or {}).values()),
        published=Published(model, part, component) if model else None,
        seeded=tuple(seeded),
        **fields,
    )


def models_of_others(tables: Sequence[str], reason: str = "", *, group: str = "") -> list[Row]:
    """Returns a row for each model of these tables that cannot be had here, for a reason or any."""
    models = {
        row.key.model: row
        for row in published_rows()
        if row.stands_in(tables) and row.not_here and reason in {"", row.not_here}
    }
    return [
        Row(name, NOT_HERE, group=group, published=row.key, reason=row.not_here)
        for name, row in models.items()
    ]


# Which configuration each training has.


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
    wide = {} if width is None else {"hidden_size": width}
    return {**changes, **training.changes, **wide}


def config_of(
    training: Training, changes: Mapping[str, Any], width: int | None = None
) -> TrainingConfig:
    """Returns the configuration of a training, see `changes_of`.

    Raises:
        ValueError: see `preset`.
    """
    views = {"views": training.views} if training.views else {}
    return preset(training.preset, **views, **changes_of(training, changes, width))


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
    if width is not None and ("hidden_size" in changes or width < 1):
        raise ValueError(
            f"--width must be at least 1, and --changes not set hidden_size beside it, not {width}"
        )
    configs = []
    for training in experiment.trainings:
        try:
            config = config_of(training, changes, width)
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


# A grid of changes as a table: a training a cell, beside random weights and word vectors.

DEFAULT_TASKS = ("STS14", "SICK14", "MR", "TREC")
RESERVED = ("seed", "held_out_fraction", "held_out_seed", "held_out_unit")
"""Fields that have parameters of their own."""


def grid_trainings(
    of_preset: str,
    views: Sequence[str],
    grid: Mapping[str, Sequence[Any]],
    all_changes: Mapping[str, Any],
) -> list[Training]:
    """Returns the training of each cell, the last field's values changing fastest.

    Args:
        of_preset: what is trained but for the changes.
        views: () takes the preset's.
        grid: field of the preset -> its values.
        all_changes: of the preset in all cells.

    Raises:
        ValueError: an unknown field, one that is given elsewhere, too, or that has no effect, or no
            list of values.
    """
    if not grid:
        raise ValueError("--grid names no field; give '{\"hidden_size\": [100, 300]}', say")
    TrainingConfig.check_names(grid)
    elsewhere = {*RESERVED, *all_changes, *(["views"] if views else [])}
    for name, values in grid.items():
        if name in elsewhere:
            raise ValueError(f"--grid sets {name}, which another parameter gives; give it once")
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(f"--grid: {name} must have a list of values, not {values!r}")
    trainings = {}
    for values in product(*grid.values()):
        cell = dict(zip(grid, values, strict=True))
        name = ", ".join(f"{field} {in_words(value, ',')}" for field, value in cell.items())
        trainings[name] = Training(name, of_preset, tuple(cell.pop("views", views)), cell)
    configs = [config_of(t, all_changes) for t in trainings.values()]
    for name in grid:
        if all(config.idle([name]) for config in configs):
            raise ValueError(f"--grid varies {name}, which has no effect in these trainings")
    return list(trainings.values())


def sweep(
    trainings: Sequence[Training],
    all_changes: Mapping[str, Any],
    *,
    title: str,
    representation: str,
    changes: Mapping[str, Any],
) -> Experiment:
    """Returns the table of a grid; the best cell is marked.

    Args:
        trainings: of the cells.
        all_changes: of the preset in all cells.
        representation: of all rows.
        changes: of the representation.

    Raises:
        ValueError: cells that cannot be.
    """
    architectures: list[dict[str, Any]] = []  # all that matters to random weights
    untrained = []
    for training in trainings:
        own = config_of(training, all_changes).architecture()
        if own not in architectures:
            architectures.append(own)
            untrained.append(training)
    # A bag of words has no views to choose and no words beside it.
    of_words = {name: v for name, v in changes.items() if name not in {"views", "join_words"}}
    shared: dict[str, Any] = {"group": "untrained", "changes": of_words}
    random: dict[str, Any] = {"taken": "random weights", "group": "untrained", "changes": changes}
    return Experiment(
        "sweep",
        title,
        (),
        rows=(
            *(
                Row(training.name, "trained", (training,), group="trained", changes=changes)
                for training in trainings
            ),
            *(Row(training.name, UNTRAINED, (training,), **random) for training in untrained),
            Row("word vectors", BAG_OF_WORDS, taken="mean", **shared),
            Row("word vectors, SIF weights", SIF, taken="mean", **shared),
        ),
        columns=columns(
            *DEFAULT_TASKS, "development score", "held-out accuracy", "parameters", "hours"
        ),
        notes=(
            {
                "text": "Best: the cell of the highest mean development score of the tasks that "
                "learn. The test scores of a cell that was chosen so are a little too high, and a "
                "difference within the deviation over seeds is none."
            },
        ),
        representation=representation,
        best_by="development score",
    )
