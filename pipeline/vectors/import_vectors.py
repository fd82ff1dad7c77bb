"""Takes over word vectors that others published: one pass over their file, in bounded memory.

In: a file of text or of word2vec's binary format, packed or not. Out: a folder of word vectors
(`folder`). Legend: E numbers a word.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treeviews.pipeline.base.atomic_files import (
    TEMPORARY_SUFFIX,
    write_text_atomically,
    writer_name,
)
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.foreign_text import told
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.base.settings import Natural, Settings
from treeviews.pipeline.shards.arrow import numbers
from treeviews.pipeline.vectors.foreign_vectors import (
    BinaryReader,
    Block,
    TextReader,
    format_of,
    open_unpacked,
)
from treeviews.pipeline.vectors.vector_folder import TableKept, kept_rows, write_vector_blocks
from treeviews.pipeline.vectors.word_lists import NOWHERE, WordIndex, WordList, read_word_list

QUARANTINE_FILE = "quarantine.jsonl"
"""The lines of the file that were left out, a JSON object each."""
IMPORT_VERSION = 1
"""Raised when the same file and settings would give another folder."""
_ROWS_FILE = "rows.unfinished"
"""All rows that are wanted, of which those of repeated words are left out in the end."""
_AT_ONCE = 16_384
_REMEDY = "give a .parquet of CountVocabulary, a .json or a text file with a word a line"


class ImportConfig(Settings):
    """What is taken of a file, and how it is kept."""

    called: ClassVar[str] = "import setting"

    member: str = ""
    """File to import from a .zip with several files."""
    kept_as: TableKept = "float16"
    """Stored type; float16 takes half the space and keeps three digits."""
    lower_case: bool = False
    """Convert words to lower case; of words that become equal, keep the first."""
    max_words: Natural = 0
    """Import only this many words from the start of the file, the most frequent; 0: all."""
    max_malformed: Natural = 100
    """Number of malformed lines that may be skipped before the file is refused."""


def import_vectors(
    path: Path,
    out: Path,
    config: ImportConfig | None = None,
    *,
    vocabulary: Path | None = None,
) -> dict[str, Any]:
    """Writes the vectors of a file as a folder, which appears whole or not at all.

    Rows that repeat a word are counted and left out; the first one counts. Lines that are no word
    with its numbers are left out, too, and `QUARANTINE_FILE` in the folder names each.

    Args:
        path: the file.
        out: the folder; must not hold word vectors.
        vocabulary: a list of words, see `read_word_list`. A word of the file is taken if the list
            has it, or has a word whose lower case it is: a token is looked up as it stands and then
            lower-cased, so that these are all that a text of the list can ask for.

    Returns:
        The facts that the folder's ``training.json`` holds.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is broken, or too much of it is; or no word is left; or the folder holds
            word vectors already.
    """
    config = config or ImportConfig()
    if path.is_dir():
        raise ValueError(
            f"{path}: a folder; give the file of word vectors that is in it, or, where it is one "
            "of word vectors already, give it to --vectors as it is"
        )
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out}: holds files already; remove them, or give another folder")
    unfinished = out.with_name(f"{out.name}.{writer_name()}{TEMPORARY_SUFFIX}")
    unfinished.mkdir(parents=True)
    try:
        facts = _import_into(unfinished, path, config, vocabulary)
        unfinished.rename(out)
    except BaseException:  # an interruption, too
        shutil.rmtree(unfinished)
        raise
    return facts


def _import_into(
    folder: Path, path: Path, config: ImportConfig, vocabulary: Path | None
) -> dict[str, Any]:
    started = time.perf_counter()
    wanted = None if vocabulary is None else _read_wanted(vocabulary, lower_case=config.lower_case)
    read = _Read()
    kind = TextReader if format_of(path, config.member) == "text" else BinaryReader
    with open_unpacked(path, config.member) as source, (folder / _ROWS_FILE).open("wb") as stream:
        reader = kind(path, source)
        for block in reader.blocks():
            read.num_lines += block.num_read
            read.refused += block.refused
            if len(read.refused) > config.max_malformed:
                raise ValueError(f"{path}:{read.malformed(config.max_malformed)}")
            read.words.append(_take(block, read, config, wanted, stream))
            if 0 < config.max_words <= read.num_words:
                break
    if not any(map(len, read.words)):
        raise ValueError(f"{path}: none of its {read.num_lines:,} words is taken; check the file")
    index = WordIndex(pa.chunked_array(read.words, pa.large_string()))
    kept = index.distinct_places()
    lines = [
        json.dumps({"line": int(row.position), "reason": row.reason, "detail": told(row.detail)})
        for row in read.refused
    ]
    write_text_atomically(folder / QUARANTINE_FILE, "".join(f"{line}\n" for line in lines))
    facts = {
        "size": reader.width,
        "lines": read.num_lines,
        "malformed": read.num_by_reason(),
        "duplicates": len(index) - len(kept),
        "not_in_vocabulary": read.num_words - len(index),
        "words": len(kept),
        "from": {"name": path.name, "sha256": sha256_of_file(path), "bytes": path.stat().st_size},
        "config": config.to_dict(),
        "import_version": IMPORT_VERSION,
        "vocabulary": vocabulary
        and {"name": vocabulary.name, "sha256": sha256_of_file(vocabulary)},
        "seconds": round(time.perf_counter() - started, 1),
    }
    rows = np.memmap(folder / _ROWS_FILE, config.kept_as, "r", 0, (len(index), reader.width))
    blocks = (rows[kept[first : first + _AT_ONCE]] for first in range(0, len(kept), _AT_ONCE))
    words = WordList(index.words.take(numbers(kept)), None)
    write_vector_blocks(folder, words, blocks, reader.width, facts, kept_as=config.kept_as)
    (folder / _ROWS_FILE).unlink()
    return facts


def _read_wanted(vocabulary: Path, *, lower_case: bool) -> WordIndex:
    words = read_word_list(vocabulary, remedy=_REMEDY).words
    if not len(words):
        raise ValueError(f"{vocabulary}: lists no words; {_REMEDY}")
    lowered = pc.utf8_lower(words)
    return WordIndex(lowered if lower_case else pa.chunked_array([words, lowered]))


@dataclass(slots=True)
class _Read:
    """What was read of a file."""

    words: list[pa.Array] = field(default_factory=list)
    """Those that are taken."""
    refused: list[Refusal] = field(default_factory=list)
    num_lines: int = 0
    num_words: int = 0
    """Of these, wanted or not."""

    def num_by_reason(self) -> dict[str, int]:
        """Returns how many lines were refused, by reason."""
        return dict(sorted(Counter(row.reason for row in self.refused).items()))

    def malformed(self, most: int) -> str:
        """Returns what is wrong with a file of which more lines than these are refused."""
        reasons = ", ".join(f"{num} {name}" for name, num in self.num_by_reason().items())
        first = self.refused[0]
        return (
            f"{first.position}: {first.detail}; {len(self.refused)} of the first "
            f"{self.num_lines:,} lines are malformed ({reasons}) and {most} may be: check that it "
            "is a file of word vectors, or let more be (--max-malformed)"
        )


def _take(
    block: Block, read: _Read, config: ImportConfig, wanted: WordIndex | None, stream: IO[bytes]
) -> pa.Array:
    """Writes the rows of a block that are wanted; returns their words."""
    left = len(block.rows)
    if config.max_words:
        left = min(left, config.max_words - read.num_words)
    read.num_words += left
    words, rows = block.words.slice(0, left), block.rows[:left]
    if config.lower_case:
        words = pc.utf8_lower(words)
    if wanted is not None:
        kept = np.flatnonzero(wanted.places(words) != NOWHERE)
        words, rows = words.take(numbers(kept)), rows[kept]
    stream.write(kept_rows(rows, config.kept_as).data)
    return words.cast(pa.large_string())
