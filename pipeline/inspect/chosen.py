"""``grep``: sentences that have what is asked for; and those sampled, or chosen by their places."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.base.mistakes import did_you_mean
from pipeline.inspect.conditions import Conditions
from pipeline.inspect.dataset import Selection
from pipeline.inspect.rows import ListColumn, check_same_rows, read_groups
from pipeline.inspect.show import printable_value
from pipeline.trees.flat import CHAIN_MARK

_PLACE = re.compile(r"(\d{1,5}):(\d{1,9})", re.ASCII)


class Place(NamedTuple):
    """Where a sentence stands; written ``SHARD:ROW``."""

    shard: int
    row: int

    def __str__(self) -> str:
        return f"{self.shard}:{self.row}"


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence and where it stands."""

    place: Place
    row: dict[str, Any]
    """Its columns, as they are in the shards."""

    def to_dict(self) -> dict[str, Any]:
        """Returns it in JSON's types."""
        return {**self.place._asdict(), **self.row}


@dataclass(slots=True)
class Search:
    """Sentences with all conditions, found row group by row group, and how far it is."""

    selection: Selection
    conditions: Conditions
    columns: Sequence[str] | None = None
    """What is read of each; by default what the conditions are of."""
    rows: int = 0
    """Looked at so far."""
    matches: int = 0
    """Found so far."""

    def __post_init__(self) -> None:
        check_stages(self.selection, self.conditions)

    def found(self) -> Iterator[Found]:
        """Yields the sentences found, in their order; counts them and what was looked at."""
        for number, start, table, rows in self._groups():
            seen = self.rows
            for row, values in zip(
                rows, table.take(pa.array(rows, pa.int64())).to_pylist(), strict=True
            ):
                self.rows, self.matches = seen + row + 1, self.matches + 1
                yield Found(Place(number, start + row), values)
            self.rows = seen + table.num_rows

    def count(self) -> int:
        """Returns how many sentences there are with all conditions."""
        for _, _, table, rows in self._groups():
            self.rows += table.num_rows
            self.matches += len(rows)
        return self.matches

    def unheard_of(self) -> Iterator[str]:
        """Yields the relations and labels that are asked for and that no tree has, in words."""
        for column, wanted in self.conditions.names().items():
            if not wanted:
                continue
            known: set[str] = set()
            for number in self.selection.shared_numbers():
                for _, table in read_groups(self.selection, number, [column]):
                    for name in ListColumn(table, column).values.unique().to_pylist():
                        known |= _names_in(name)
            for name in sorted(set(wanted) - known):
                kind = "relation" if column == "deprels" else "label"
                yield f"no tree has the {kind} {name!r}{did_you_mean(name, known=sorted(known))}"

    def _groups(self) -> Iterator[tuple[int, int, pa.Table, list[int]]]:
        """Yields shard, first row, the rows of a group, and which of them are found."""
        columns = self.columns or self.conditions.columns()
        for number in self.selection.shared_numbers():
            for start, table in read_groups(self.selection, number, columns):
                yield number, start, table, self.conditions.rows_of(table).tolist()


def _names_in(name: str) -> set[str]:
    """Returns the names by which a relation or a label is found."""
    return {name, name.partition(":")[0], *name.split(CHAIN_MARK)}


def check_stages(selection: Selection, conditions: Conditions) -> None:
    """Refuses conditions on what is not there, or there more than once.

    Raises:
        ValueError: names the stage and what asks for it.
    """
    for stage, option in conditions.stages().items():
        if selection.folder_of(stage) is None:
            raise ValueError(
                f"{selection.folders[0].path}: no {stage} here, which {option} needs; give the "
                "folder of a corpus that has them"
            )


def match_lines(found: Found, conditions: Conditions) -> Iterator[str]:
    """Yields a match in lines: its place, document and text, and what of its trees matches."""
    row = {name: printable_value(value) for name, value in found.row.items()}
    text = " ".join(row["tokens"])
    yield f"{found.place!s:>7}  {row['document_id']} {row['sentence_index']}  {text}"
    for part in conditions.evidence(row):
        yield " " * 9 + part


def place_of(text: str) -> Place:
    """Returns the place that ``SHARD:ROW`` names.

    Raises:
        ValueError: it names none.
    """
    if (found := _PLACE.fullmatch(text)) is None:
        raise ValueError(f"{text!r} is no place; write SHARD:ROW, such as 0:7")
    return Place(int(found[1]), int(found[2]))


def sentences_at(selection: Selection, places: Sequence[Place]) -> list[Found]:
    """Returns the sentences at these places, in the places' order.

    Raises:
        ValueError: there is no such place, or no sentences are beside the parses.
    """
    by_shard: defaultdict[int, set[int]] = defaultdict(set)
    for place in places:
        by_shard[place.shard].add(place.row)
    known = selection.shared_numbers()
    found: dict[Place, Found] = {}
    for number in sorted(by_shard):
        if number not in known:
            raise ValueError(f"no shard {number} that all stages have; they share {known}")
        num_rows = check_same_rows(selection.read_together, number)
        if (last := max(by_shard[number])) >= num_rows:
            raise ValueError(f"shard {number} has no row {last}; it has {num_rows:,} rows")
        found |= _at(selection, number, sorted(by_shard[number]))
    return [found[place] for place in places]


def _at(selection: Selection, number: int, rows: Sequence[int]) -> dict[Place, Found]:
    found: dict[Place, Found] = {}
    for start, table in read_groups(selection, number):
        inside = [row - start for row in rows if start <= row < start + table.num_rows]
        values = table.take(pa.array(inside, pa.int64())).to_pylist()
        for row, of_row in zip(inside, values, strict=True):
            place = Place(number, start + row)
            found[place] = Found(place, of_row)
        if start + table.num_rows > rows[-1]:
            break
    return found


def sampled_places(selection: Selection, count: int, seed: int) -> list[Place]:
    """Returns places drawn without replacement, in their order; the same for the same seed.

    Args:
        count: how many, or all where there are fewer.
        seed: of the draw, which depends on it and on the numbers of rows alone.
    """
    rows = {
        number: check_same_rows(selection.read_together, number)
        for number in selection.shared_numbers()
    }
    total = sum(rows.values())
    drawn = iter(sorted(random.Random(seed).sample(range(total), min(count, total))))
    places, before, one = [], 0, next(drawn, None)
    for number, num_rows in rows.items():
        while one is not None and one < before + num_rows:
            places.append(Place(number, one - before))
            one = next(drawn, None)
        before += num_rows
    return places
