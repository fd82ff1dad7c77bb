"""The columns of every stage, as `pipeline.shards.schema` describes them."""

from __future__ import annotations

from treeviews.pipeline.shards.schema import DESCRIBED, SCHEMA_VERSION, Column


def column_tables() -> str:
    """Returns the version, and a section a stage with the table of its columns."""
    parts = [f"The schema's version is {SCHEMA_VERSION}."]
    for stage, columns in DESCRIBED.items():
        rows = "\n".join(map(_row, columns))
        parts.append(
            f"### {stage}\n\n| column | Arrow type | meaning | values |\n|---|---|---|---|\n{rows}"
        )
    return "\n\n".join(parts) + "\n"


def _row(column: Column) -> str:
    type_ = "as wide as the encoder" if column.type is None else f"`{column.type}`"
    said = (
        text.replace("|", r"\|").replace("<", "&lt;") for text in (column.meaning, column.values)
    )
    return f"| `{column.name}` | {type_} | {' | '.join(said)} |"
