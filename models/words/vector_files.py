"""Opens word vectors: this project's folders, and files of text as GloVe and word2vec write it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from models.words.word_vectors import WordVectors
from pipeline.shards.arrow import numbers
from pipeline.vectors.foreign_vectors import TextReader, format_of, opened
from pipeline.vectors.vector_folder import REMEDY, open_folder, read_width
from pipeline.vectors.word_lists import WordIndex


def load_word_vectors(path: Path, *, whole: bool = False) -> WordVectors:
    """Returns the word vectors of a folder or of a text file.

    A folder's table is mapped. A text file is read whole: what is used more than once is better
    imported (`pipeline.vectors.import_vectors`).

    Args:
        path: a folder, see `pipeline.vectors.vector_folder`; or UTF-8 text, packed or not, a word
            and its numbers a line (GloVe), optionally under a header of two counts (word2vec).
        whole: a folder's table is held against its sha256 however large it is.

    Raises:
        FileNotFoundError: nothing there.
        ValueError: the content is broken; the message names file and line.
    """
    if path.is_dir():
        return WordVectors.of_table(open_folder(path, whole=whole))
    _check_text(path)
    with opened(path) as stream:
        return _read_all(path, TextReader(path, stream))


def read_word_size(path: Path) -> int:
    """Returns the dimension of a word vector, of which no other is read; arguments as above.

    Raises:
        FileNotFoundError, ValueError: as `load_word_vectors`, of what is read.
    """
    if path.is_dir():
        return read_width(path)
    _check_text(path)
    with opened(path) as stream:
        return TextReader(path, stream).width


def _check_text(path: Path) -> None:
    """Refuses a file that is not read as it stands.

    Raises:
        FileNotFoundError: nothing there.
        ValueError: it is no text.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such word vectors; give a folder or a text file")
    if (found := format_of(path)) != "text":
        raise ValueError(
            f"{path}: not text but {found}'s own format: make a folder of it "
            f"(treeviews vectors import {path} --out FOLDER) and give that"
        )


def _read_all(path: Path, reader: TextReader) -> WordVectors:
    """Returns all rows of a text; refuses the first line that is malformed."""
    words, rows = [], []
    for block in reader.blocks():
        for row in block.refused:
            raise ValueError(f"{path}:{row.number}: {row.detail}; {REMEDY}")
        words.append(block.words)
        rows.append(block.rows)
    index = WordIndex(pa.chunked_array(words, pa.large_string()))
    kept, table = index.distinct_places(), np.concatenate(rows)
    listed = index.words
    if len(kept) < len(index):
        listed, table = listed.take(numbers(kept)), table[kept]
    return WordVectors.from_rows(listed, table, num_duplicates=len(index) - len(kept))
