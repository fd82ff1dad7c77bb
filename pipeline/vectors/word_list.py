"""Lists of words: the Parquet file of a vocabulary or of a table's words, JSON, and text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.base.atomic_files import write_by_library
from pipeline.base.json_files import read_strings
from pipeline.shards.arrow import numbers, strings, values_of

LIST_VERSION = 1
_VERSION_KEY = "treeviews.word_list_version"
_PACKING = {
    "compression": "zstd",
    "compression_level": 3,
    "use_dictionary": False,
    "write_page_checksum": True,
}


@dataclass(frozen=True, slots=True, eq=False)
class WordList:
    """Words in an order of their own."""

    words: pa.Array
    """``large_string`` [N], none null, none empty."""
    counts: NDArray[np.int64] | None
    """[N]; how often each stands in the text; None where that is not known."""


def write_word_list(path: Path, listed: WordList) -> None:
    """Writes a Parquet file: ``word``, and ``count`` where it is known; whole or not at all."""
    import pyarrow.parquet as pq

    columns, schema = [listed.words], _schema(listed.counts is not None)
    if listed.counts is not None:
        columns.append(numbers(listed.counts.astype(np.int64)))
    table = pa.Table.from_arrays(columns, schema=schema)
    write_by_library(path, partial(pq.write_table, table, **_PACKING))


def _schema(has_counts: bool) -> pa.Schema:
    fields = [pa.field("word", pa.large_string(), nullable=False)]
    if has_counts:
        fields.append(pa.field("count", pa.int64(), nullable=False))
    return pa.schema(fields, {_VERSION_KEY: str(LIST_VERSION)})


def read_word_list(path: Path, *, remedy: str) -> WordList:
    """Returns the words of a file.

    Args:
        path: ``.parquet`` with a column ``word`` and perhaps ``count``; ``.json``, a list of
            strings; else UTF-8 text, a word a line.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it holds anything else; names file, row and remedy.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such list of words; {remedy}")
    if path.suffix == ".parquet":
        return _read_parquet(path, remedy)
    if path.suffix == ".json":
        listed = WordList(strings(read_strings(path, remedy=remedy)), None)
    else:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}: not UTF-8 text (byte {error.start}); give a .parquet, a .json or a text "
                "file with a word a line"
            ) from error
        listed = WordList(strings([line for line in text.split("\n") if line]), None)
    return listed


def _read_parquet(path: Path, remedy: str) -> WordList:
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            names = file.schema_arrow.names
            if "word" not in names:
                raise ValueError(f"{path}: has no column 'word' but {names[:5]}; {remedy}")
            version = (file.schema_arrow.metadata or {}).get(_VERSION_KEY.encode())
            if version not in (None, str(LIST_VERSION).encode()):
                raise ValueError(
                    f"{path}: version {version!r} of word lists, this release reads {LIST_VERSION}"
                )
            table = file.read([name for name in ("word", "count") if name in names])
        words = table["word"].cast(pa.large_string()).combine_chunks()
        counts = table["count"].cast(pa.int64()).combine_chunks() if "count" in names else None
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not readable as Parquet ({error}); {remedy}") from error
    if words.null_count or (counts is not None and counts.null_count):
        raise ValueError(f"{path}: a word or count is null; {remedy}")
    return WordList(words, None if counts is None else values_of(counts).astype(np.int64))
