"""``schema``: the columns of each stage, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline.base.foreign_text import printable
from pipeline.inspect.dataset import Selection, StageFolder
from pipeline.shards.schema import DESCRIBED, SCHEMA_VERSION
from pipeline.shards.shards import shard_metadata


def schema_of(selection: Selection) -> Iterator[dict[str, Any]]:
    """Yields the columns of every stage of a selection; reads the files' footers alone."""
    for folder in selection.folders:
        yield _stage_facts(folder, selection.numbers_in(folder))


def _stage_facts(folder: StageFolder, numbers: list[int]) -> dict[str, Any]:
    shards = [shard_metadata(folder.path, folder.stage, number) for number in numbers]
    types = {field.name: _type_in_words(field.type) for schema, _ in shards for field in schema}
    return {
        "stage": folder.stage,
        "path": str(folder.path),
        "version": SCHEMA_VERSION,
        "shards": len(numbers),
        "rows": sum(metadata.num_rows for _, metadata in shards),
        "row_groups": sum(metadata.num_row_groups for _, metadata in shards),
        "columns": [
            {
                "name": column.name,
                "type": types.get(column.name, ""),
                "meaning": column.meaning,
                "values": column.values,
                "is_nullable": column.is_nullable,
            }
            for column in DESCRIBED[folder.stage]
        ],
    }


def _type_in_words(type_: Any) -> str:
    """Returns an Arrow type in few words: ``list of int16``, ``text by dictionary``."""
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
        yield f"{facts['stage']}  {printable(facts['path'])}"
        yield (
            f"  version {facts['version']}, {facts['rows']:,} rows in {facts['shards']:,} shards "
            f"and {facts['row_groups']:,} row groups"
        )
        for column in facts["columns"]:
            nullable = ", may be null" if column["is_nullable"] else ""
            yield f"  {column['name']}: {column['type'] or 'as the files say'}{nullable}"
            yield f"    {column['meaning']}"
            yield f"    values: {column['values']}"
        yield ""
