"""One assembled table as plain data: cells with seeds, intervals and reasons; the scale of lines.

Every export and page draws this and nothing else. A row of ours has a measured line and, below it,
a line for each corpus that a paper gives figures of; a model that is not here has these alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from models.experiments.declaration import Scale
from pipeline.base.json_files import read_json, write_sealed_json

FORMAT = "treeviews table"
FORMAT_VERSION = 2
_REMEDY = "delete it and make the table again"


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure, or why there is none."""

    value: float | None = None
    """Mean over seeds, or as published."""
    deviation: float | None = None
    """Sample standard deviation over seeds; None of a single one."""
    num_seeds: int = 0
    """0 of a published figure."""
    low: float | None = None
    """Of the bootstrap interval of a single seed; None over several, and of facts."""
    high: float | None = None
    reason: str = ""
    """Why there is no figure; empty where none belongs here, as a baseline has no hours."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of figures: measured here, or published."""

    source: str
    """Where it stands: ``here``, or ``B, table 3, G1``."""
    measured: bool
    scale: Scale
    cells: tuple[Cell, ...]
    """One a column."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """One encoder, and what of it is scored."""

    title: str
    taken: str
    group: str
    lines: tuple[Line, ...]
    """The measured one first, if there is one."""
    not_here: str = ""
    """Why nothing is measured; empty where something is."""
    chosen_by: str = ""
    """The fact by which it is the best row; empty where it is not."""
    folders: tuple[str, ...] = ()
    """Of its results, one a seed, within the table's folder."""

    @property
    def full_title(self) -> str:
        """The row in one line."""
        return f"{self.title}, {self.taken}" if self.taken else self.title

    @property
    def is_trained(self) -> bool:
        """Whether it was measured here, of an encoder that was trained on sentences."""
        return any(one.measured and one.scale.sentences is not None for one in self.lines)


@dataclass(frozen=True, slots=True)
class Heading:
    """What a column is."""

    name: str
    digits: int = 1
    lower_is_better: bool = False
    is_fact: bool = False
    """Of the model, and not a score."""


@dataclass(frozen=True, slots=True)
class TrainingLine:
    """How one training of the table went; figures are over its seeds."""

    name: str
    views: tuple[str, ...]
    objective: str
    num_parameters: int
    sentences: int
    words: int
    known_share: float
    """Of the words, in percent."""
    epochs: int
    steps: int
    held_out: Cell
    """Accuracy on held-out sentences, in percent."""
    chance: float | None
    """Of that, in percent."""
    seconds: float
    """Of all seeds together."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table, assembled."""

    name: str
    title: str
    tables: tuple[str, ...]
    """Of the papers."""
    columns: tuple[Heading, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()
    """Sentences: what figures are, what is absent and why, how ours differ from the papers'."""
    trainings: tuple[TrainingLine, ...] = field(default_factory=tuple)


def write_table(path: Path, table: ResultTable) -> None:
    """Writes a table as JSON; the file appears whole or not at all."""
    header = {"format": FORMAT, "format_version": FORMAT_VERSION}
    write_sealed_json(path, {**header, **asdict(table)})


def read_table(path: Path) -> ResultTable:
    """Returns the table that `write_table` wrote.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no table of this version; names the file and the remedy.
    """
    value = read_json(path, remedy=_REMEDY)
    known = (value.get("format"), value.get("format_version")) if isinstance(value, dict) else ()
    if known != (FORMAT, FORMAT_VERSION):
        raise ValueError(f"{path}: no table of this release; {_REMEDY}")
    try:
        return ResultTable(
            name=value["name"],
            title=value["title"],
            tables=tuple(value["tables"]),
            columns=tuple(Heading(**one) for one in value["columns"]),
            rows=tuple(map(_row, value["rows"])),
            notes=tuple(value["notes"]),
            trainings=tuple(map(_training, value["trainings"])),
        )
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: a damaged table ({error}); {_REMEDY}") from error


def _row(value: Mapping[str, Any]) -> TableRow:
    lines = tuple(
        Line(
            line["source"],
            line["measured"],
            Scale(**line["scale"]),
            tuple(Cell(**cell) for cell in line["cells"]),
        )
        for line in value["lines"]
    )
    return TableRow(**{**value, "lines": lines, "folders": tuple(value["folders"])})


def _training(value: Mapping[str, Any]) -> TrainingLine:
    made = {
        "views": tuple(value["views"]),
        "held_out": Cell(**value["held_out"]),
    }
    return TrainingLine(**{**value, **made})
