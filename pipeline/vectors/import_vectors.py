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
from typing import IO, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.base.atomic_files import TEMPORARY_SUFFIX, write_text_atomically, writer_name
from pipeline.base.digest import sha256_of_file
from pipeline.base.foreign_text import told
from pipeline.base.job import Progress
from pipeline.base.settings import Natural, Settings
from pipeline.shards.arrow import numbers
from pipeline.vectors.folder import VECTORS_FILE, is_vector_folder
from pipeline.vectors.source_files import Block, RefusedRow, format_of, opened
from pipeline.vectors.text_format import TextReader
from pipeline.vectors.word2vec_binary import Word2VecReader
from pipeline.vectors.word_index import NOWHERE, WordIndex
from pipeline.vectors.word_list import WordList, read_word_list
from pipeline.vectors.write_folder import TableWriter, seal_folder, write_table

QUARANTINE_FILE = "quarantine.jsonl"
"""The lines of the file that were left out, a JSON object each."""
IMPORT_VERSION = 1
"""Raised when the same file and settings would give another folder."""
_REMEDY = "give a .parquet of CountVocabulary, a .json or a text file with a word a line"


class ImportConfig(Settings):
    """What is taken of a file, and how it is kept."""

    called: ClassVar[str] = "import setting"

    member: str = ""
    """Of a .zip with several files, the one that is meant."""
    kept_as: Literal["float16", "float32"] = "float16"
    """Half precision keeps three digits and half of the bytes."""
    lower_case: bool = False
    """Whether words lose their case; of words that then are one, the first in the file counts."""
    max_words: Natural = 0
    """The first so many words of the file, which has the most frequent ones first; 0: all."""
    max_malformed: Natural = 100
    """So many lines may be left out; with one more the file is refused."""


@dataclass(slots=True)
class _Taken:
    """What was taken of a file so far."""

    words: list[pa.Array] = field(default_factory=list)
    refused: list[RefusedRow] = field(default_factory=list)
    num_read: int = 0
    """Lines or rows."""
    num_seen: int = 0
    """Words of these, wanted or not."""
    num_words: int = 0
    num_not_wanted: int = 0


def _refuse_folder(path: Path) -> None:
    if is_vector_folder(path):
        raise ValueError(
            f"{path}: a folder of word vectors, which needs no import: give it as it is, such as "
            "to --vectors"
        )
    if path.is_dir():
        raise ValueError(f"{path}: a folder; give the file of word vectors that is in it")


def import_vectors(
    path: Path,
    out: Path,
    config: ImportConfig | None = None,
    *,
    vocabulary: Path | None = None,
    on_progress: Progress | None = None,
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
    _refuse_folder(path)
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out}: holds files already; remove them, or give another folder")
    wanted = None if vocabulary is None else _wanted(vocabulary, lower_case=config.lower_case)
    unfinished = out.with_name(f"{out.name}.{writer_name()}{TEMPORARY_SUFFIX}")
    unfinished.mkdir(parents=True)
    try:
        facts = _import_into(unfinished, path, config, vocabulary, wanted, on_progress)
        unfinished.rename(out)
    except BaseException:  # an interruption, too
        shutil.rmtree(unfinished)
        raise
    return facts


def _import_into(
    folder: Path,
    path: Path,
    config: ImportConfig,
    vocabulary: Path | None,
    wanted: WordIndex | None,
    on_progress: Progress | None,
) -> dict[str, Any]:
    started = time.perf_counter()
    facts: dict[str, Any] = {}
    listed: list[pa.Array] = []
    kind = TextReader if format_of(path, config.member) == "text" else Word2VecReader

    def fill(stream: IO[bytes]) -> None:
        with opened(path, config.member) as source:
            reader = kind(path, source)
            table = TableWriter(stream, reader.width, config.kept_as)
            taken = _take(path, reader, table, config, wanted, on_progress)
            words, num_duplicates = _without_duplicates(taken, table)
            table.finish()
        listed.append(words)
        _write_quarantine(folder, taken.refused)
        facts.update(_facts_of(taken, num_duplicates, reader.width), words=len(words))

    write_table(folder / VECTORS_FILE, fill)
    facts |= {
        "from": {"name": path.name, "sha256": sha256_of_file(path), "bytes": path.stat().st_size},
        "config": config.to_dict(),
        "import_version": IMPORT_VERSION,
        "vocabulary": None if vocabulary is None else _described(vocabulary),
        "seconds": round(time.perf_counter() - started, 1),
    }
    seal_folder(folder, WordList(listed[0], None), facts)
    return facts


def _wanted(vocabulary: Path, *, lower_case: bool) -> WordIndex:
    words = read_word_list(vocabulary, remedy=_REMEDY).words
    if not len(words):
        raise ValueError(f"{vocabulary}: lists no words; {_REMEDY}")
    lowered = pc.utf8_lower(words)
    return WordIndex(lowered if lower_case else pa.chunked_array([words, lowered]))


def _described(vocabulary: Path) -> dict[str, Any]:
    return {"name": vocabulary.name, "sha256": sha256_of_file(vocabulary)}


def _take(
    path: Path,
    reader: TextReader | Word2VecReader,
    table: TableWriter,
    config: ImportConfig,
    wanted: WordIndex | None,
    on_progress: Progress | None,
) -> _Taken:
    """Writes the rows that are wanted; returns their words and what else was met."""
    taken, is_enough = _Taken(), False
    for block in reader.blocks():
        taken.num_read += block.num_read
        taken.refused += block.refused
        if len(taken.refused) > config.max_malformed:
            raise ValueError(_too_many(path, taken, config))
        _add(block, taken, table, config, wanted)
        if on_progress is not None:
            of_all = taken.num_read / reader.promised if reader.promised else 0.0
            on_progress(
                min(of_all, 1.0), f"{taken.num_read:,} words read, {taken.num_words:,} kept"
            )
        if is_enough := 0 < config.max_words <= taken.num_seen:
            break
    if not is_enough and reader.promised not in (None, taken.num_read):
        raise ValueError(
            f"{path}:1: the header promises {reader.promised} words, the file holds "
            f"{taken.num_read}; it was cut short"
        )
    if not taken.num_words:
        raise ValueError(f"{path}: none of its {taken.num_read:,} words is taken; check the file")
    return taken


def _add(
    block: Block,
    taken: _Taken,
    table: TableWriter,
    config: ImportConfig,
    wanted: WordIndex | None,
) -> None:
    left = len(block.rows)
    if config.max_words:
        left = min(left, config.max_words - taken.num_seen)
    taken.num_seen += left
    words, rows = block.words.slice(0, left), block.rows[:left]
    if config.lower_case:
        words = pc.utf8_lower(words)
    if wanted is not None:
        kept = np.flatnonzero(wanted.places(words) != NOWHERE)
        taken.num_not_wanted += left - len(kept)
        words, rows = words.take(numbers(kept)), rows[kept]
    table.add(rows)
    taken.words.append(words.cast(pa.large_string()))
    taken.num_words += len(words)


def _too_many(path: Path, taken: _Taken, config: ImportConfig) -> str:
    reasons = ", ".join(f"{num} {name}" for name, num in _by_reason(taken.refused).items())
    first = taken.refused[0]
    return (
        f"{path}:{first.number}: {first.detail}; {len(taken.refused)} of the first "
        f"{taken.num_read:,} lines are malformed ({reasons}) and {config.max_malformed} may be: "
        "check that it is a file of word vectors, or let more be (--max-malformed)"
    )


def _by_reason(refused: list[RefusedRow]) -> dict[str, int]:
    return dict(sorted(Counter(one.reason for one in refused).items()))


def _without_duplicates(taken: _Taken, table: TableWriter) -> tuple[pa.Array, int]:
    """Returns the words without those that stood before, whose rows are dropped, and how many."""
    words = pa.chunked_array(taken.words, pa.large_string()).combine_chunks()
    first = WordIndex(words).first_places()
    kept = np.flatnonzero(first == np.arange(len(first)))
    num_duplicates = len(first) - len(kept)
    if not num_duplicates:
        return words, 0
    table.keep(kept)
    return words.take(numbers(kept)), num_duplicates


def _facts_of(taken: _Taken, num_duplicates: int, width: int) -> dict[str, Any]:
    return {
        "size": width,
        "lines": taken.num_read,
        "malformed": _by_reason(taken.refused),
        "duplicates": num_duplicates,
        "not_in_vocabulary": taken.num_not_wanted,
    }


def _write_quarantine(out: Path, refused: list[RefusedRow]) -> None:
    lines = [
        json.dumps({"line": one.number, "reason": one.reason, "detail": told(one.detail)})
        for one in refused
    ]
    write_text_atomically(out / QUARANTINE_FILE, "".join(f"{line}\n" for line in lines))
