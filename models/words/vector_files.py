"""Opens word vectors: this project's folders, and files of text as GloVe and word2vec write it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from models.words.word_vectors import WordVectors
from pipeline.shards.arrow import numbers
from pipeline.vectors.folder import REMEDY, open_folder, read_width
from pipeline.vectors.source_files import format_of, opened
from pipeline.vectors.text_format import TextReader
from pipeline.vectors.word_index import WordIndex


def load_word_vectors(path: Path, *, whole: bool = False) -> WordVectors:
    """Returns the word vectors of a folder or of a text file.

    A folder's table is mapped. A text file is read whole: what is used more than once is better
    imported (`pipeline.vectors.import_vectors`).

    Args:
        path: a folder, see `pipeline.vectors.folder`; or UTF-8 text, packed or not, one word and
            its numbers a line (GloVe), optionally under a header of two counts (word2vec).
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
    words, rows, num_read = [], [], 0
    for block in reader.blocks():
        for one in block.refused:
            raise ValueError(f"{path}:{one.number}: {one.detail}; {REMEDY}")
        num_read += block.num_read
        words.append(block.words)
        rows.append(block.rows)
    if not num_read and reader.promised == 0:
        raise ValueError(f"{path}:1: the header promises no words; give another file")
    if reader.promised not in (None, num_read):
        raise ValueError(
            f"{path}:1: the header promises {reader.promised} words, the file holds {num_read}; "
            "it was cut short"
        )
    listed = pa.chunked_array(words, pa.large_string()).combine_chunks()
    first = WordIndex(listed).first_places()
    kept = np.flatnonzero(first == np.arange(len(first)))
    table = np.concatenate(rows)
    if len(kept) < len(first):
        listed, table = listed.take(numbers(kept)), table[kept]
    return WordVectors.from_rows(listed, table, num_duplicates=len(first) - len(kept))
