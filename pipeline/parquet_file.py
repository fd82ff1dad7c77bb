"""How rows lie in a Parquet file: row groups as they come, columns packed for their content."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP_ROWS = 10_000
TEXT_LEVEL = 3
TREE_LEVEL = 19
"""zstd's levels. Trees are small and are parsed for milliseconds a sentence; the highest level
takes a tenth of one and saves a twelfth of their bytes."""
SPLIT_COLUMNS = frozenset({"heads", "span_starts", "span_ends"})
"""Positions in a sentence, of whose bytes one varies and takes all values: packed byte by byte, an
eighth smaller than through a dictionary, whose codes of seven bits hide the bytes from zstd."""


class ParquetRows:
    """A Parquet file in the making; the same tables give the same bytes.

    The file is there from the first rows on, and whole once it is closed.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        self._writer: pq.ParquetWriter | None = None
        self.num_rows = 0

    def write(self, table: pa.Table) -> None:
        """Appends rows in row groups of their own, `ROW_GROUP_ROWS` each but for the last."""
        self._open().write_table(table, row_group_size=ROW_GROUP_ROWS)
        self.num_rows += table.num_rows

    def close(self) -> None:
        """Ends the file and checks it.

        Raises:
            OSError: it does not read back with as many rows as were written.
        """
        self._open().close()
        if pq.ParquetFile(self._path).metadata.num_rows != self.num_rows:
            raise OSError(f"{self._path} was not written whole; check the disk")

    def discard(self) -> None:
        """Removes the file."""
        if self._writer is not None:
            with suppress(OSError):  # such as a full disk, which is why the rows are given up
                self._writer.close()
        self._path.unlink(missing_ok=True)

    def _open(self) -> pq.ParquetWriter:
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._path, self._schema, **_options(self._schema))
        return self._writer


def _options(schema: pa.Schema) -> dict[str, Any]:
    """Returns how a schema's columns are packed."""
    split = {name: _leaf(name) for name in schema.names if name in SPLIT_COLUMNS}
    if not split:  # sentences
        return {"compression": "zstd", "compression_level": TEXT_LEVEL}
    return {
        "compression": "zstd",
        "compression_level": TREE_LEVEL,
        "use_dictionary": [_leaf(name) for name in schema.names if name not in split],
        "column_encoding": dict.fromkeys(split.values(), "BYTE_STREAM_SPLIT"),
    }


def _leaf(name: str) -> str:
    """Returns what Parquet calls the values of a list column."""
    return f"{name}.list.element"
