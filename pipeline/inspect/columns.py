"""``schema``: the columns of each stage, what they mean, and what they take in the files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from pipeline.base.foreign_text import printable
from pipeline.inspect.dataset import Selection, StageFolder
from pipeline.shards.schema import DESCRIBED, SCHEMA_VERSION, Column
from pipeline.shards.shards import shard_metadata


@dataclass(slots=True)
class ColumnFacts:
    """A column of one stage's shards; bytes are summed over them."""

    name: str
    type: str
    meaning: str
    values: str
    is_nullable: bool
    num_values: int = 0
    """Those of a list are counted one by one."""
    bytes: int = 0
    """In the files, packed."""
    unpacked_bytes: int = 0
    """Encoded but not compressed, as Parquet counts them."""
    compression: list[str] = field(default_factory=list)
    encodings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class StageFacts:
    """The columns of one stage, and how its files are cut."""

    stage: str
    path: str
    version: int
    shards: int
    rows: int
    row_groups: int
    bytes: int
    """Of the files, with their footers."""
    columns: list[ColumnFacts]


def schema_of(selection: Selection) -> Iterator[StageFacts]:
    """Yields the columns of every stage of a selection; reads the files' footers alone."""
    for folder in selection.folders:
        yield _stage_facts(folder, selection.numbers_in(folder))


def schema_dicts(selection: Selection) -> list[dict[str, Any]]:
    """Returns the same as JSON has it."""
    return [asdict(facts) for facts in schema_of(selection)]


def _stage_facts(folder: StageFolder, numbers: list[int]) -> StageFacts:
    columns = {column.name: _described(column) for column in DESCRIBED[folder.stage]}
    facts = StageFacts(
        folder.stage, str(folder.path), SCHEMA_VERSION, len(numbers), 0, 0, 0, [*columns.values()]
    )
    for number in numbers:
        schema, metadata = shard_metadata(folder.path, folder.stage, number)
        facts.rows += metadata.num_rows
        facts.row_groups += metadata.num_row_groups
        facts.bytes += (folder.path / f"{number:05d}.parquet").stat().st_size
        for name, found in columns.items():
            found.type = _type_in_words(schema.field(name).type)
        _add_sizes(columns, metadata)
    return facts


def _described(column: Column) -> ColumnFacts:
    type_ = "" if column.type is None else _type_in_words(column.type)
    return ColumnFacts(column.name, type_, column.meaning, column.values, column.is_nullable)


def _add_sizes(columns: dict[str, ColumnFacts], metadata: Any) -> None:
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(place)
            # The values of a list column are a Parquet column "name.list.element".
            found = columns.get(chunk.path_in_schema.split(".")[0])
            if found is None:  # a column that is not of the stage
                continue
            found.num_values += chunk.num_values
            found.bytes += chunk.total_compressed_size
            found.unpacked_bytes += chunk.total_uncompressed_size
            found.compression = sorted({*found.compression, chunk.compression.lower()})
            found.encodings = sorted({*found.encodings, *chunk.encodings})


def _type_in_words(type_: Any) -> str:
    """Returns an Arrow type in few words: ``list of int16``, ``text by dictionary``."""
    import pyarrow as pa

    if pa.types.is_fixed_size_list(type_):
        return f"{type_.list_size} x {_type_in_words(type_.value_type)}"
    if pa.types.is_list(type_):
        return f"list of {_type_in_words(type_.value_type)}"
    if pa.types.is_dictionary(type_):
        return f"{_type_in_words(type_.value_type)} by dictionary"
    return {"string": "text", "halffloat": "float16", "float": "float32"}.get(
        str(type_), str(type_)
    )


def schema_lines(selection: Selection) -> Iterator[str]:
    """Yields the same as lines for people."""
    for facts in schema_of(selection):
        yield f"{facts.stage}  {printable(facts.path)}"
        yield (
            f"  version {facts.version}, {facts.rows:,} rows in {facts.shards:,} shards and "
            f"{facts.row_groups:,} row groups, {facts.bytes:,} bytes"
        )
        for column in facts.columns:
            yield from _column_lines(column, facts.rows)
        yield ""


def _column_lines(column: ColumnFacts, rows: int) -> Iterator[str]:
    nullable = ", may be null" if column.is_nullable else ""
    yield f"  {column.name}: {column.type or 'as the files say'}{nullable}"
    yield f"    {column.meaning}"
    yield f"    values: {column.values}"
    if column.num_values:
        share = column.bytes / max(column.unpacked_bytes, 1)
        yield (
            f"    {column.num_values:,} values, {column.bytes:,} bytes "
            f"({column.bytes / max(rows, 1):.1f} a row), {', '.join(column.compression)}, "
            f"{share:.0%} of its {column.unpacked_bytes:,} bytes before"
        )
