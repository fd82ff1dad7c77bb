"""Rows of a shard as encoders read them: its tokens, and the parses that stand beside them.

One row group is in memory at a time, of every stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from models.config.views import VIEWS, columns_read
from models.corpus.parsed_corpus import check_lengths
from models.encoding.parse_cache import TOKENS
from models.encoding.sentence_reader import ParsedRows, stage_table
from models.model.model_description import checksum_of_weights
from pipeline.shards.manifests import (
    ShardManifest,
    is_parsed_from,
    read_verified_manifest,
    remedy,
    shard_path,
)
from pipeline.shards.shards import read_row_groups

_PLACE = ("document_id", "sentence_index")
_COLUMNS = columns_read(VIEWS)


@dataclass(frozen=True, slots=True, eq=False)
class CorpusRows:
    """Neighbouring rows of a shard."""

    first: int
    """Row of the shard."""
    places: pa.Table
    """Document and position in it."""
    parsed: ParsedRows

    def __len__(self) -> int:
        return len(self.parsed)

    def tokens(self) -> list[list[str]]:
        """Returns the words of each sentence."""
        words: list[list[str]] = self.parsed.tokens["tokens"].to_pylist()
        return words


@dataclass(frozen=True, slots=True, eq=False)
class CorpusShard:
    """The shards of one number of those stages that an encoder reads."""

    number: int
    sentences: Path
    """Folder of the sentences."""
    parses: Mapping[str, Path]
    """Parse stage -> its folder."""
    manifests: Mapping[str, ShardManifest]
    """Stage -> what its shard says of itself."""

    @property
    def num_rows(self) -> int:
        """Sentences of the shard."""
        return self.manifests["sentences"].rows

    def groups(self) -> Iterator[CorpusRows]:
        """Yields the rows, a row group of the sentences at a time; nothing where there is no row.

        Raises:
            ValueError: a parse does not fit its sentence, or a shard is damaged; names file and
                row.
        """
        parses = {stage: _Rows(folder, stage, self.number) for stage, folder in self.parses.items()}
        first = 0
        for group in read_row_groups(self.sentences, "sentences", self.number):
            if not group.num_rows:
                continue
            tables = {stage: rows.take(group.num_rows) for stage, rows in parses.items()}
            for stage, table in tables.items():
                self._check_fit(stage, table, group, first)
            parsed = ParsedRows(
                stage_table(TOKENS, group),
                {stage: stage_table(stage, table) for stage, table in tables.items()},
            )
            yield CorpusRows(first, group.select(list(_PLACE)), parsed)
            first += group.num_rows

    def _check_fit(self, stage: str, parses: pa.Table, sentences: pa.Table, first: int) -> None:
        path = shard_path(self.parses[stage], self.number)
        is_parsed = parses[parses.column_names[0]].is_valid()
        rows = first + np.flatnonzero(is_parsed.to_numpy())
        tokens = sentences["tokens"].filter(is_parsed)
        check_lengths(path, stage, parses.filter(is_parsed), tokens, rows)


def open_shard(
    sentences: Path,
    parses: Mapping[str, Path],
    number: int,
    *,
    parsers: Mapping[str, str] | None = None,
) -> CorpusShard:
    """Returns the shards of one number after checking that they are of the same sentences.

    Args:
        sentences: folder of the sentences.
        parses: parse stage -> its folder.
        parsers: parse stage -> checksum of the parser that must have made it.

    Raises:
        FileNotFoundError: a shard is not complete.
        ValueError: it is damaged, parsed from other sentences, of another number of rows, or by
            another parser than is asked for; names the file and the remedy.
    """
    manifests = {"sentences": _complete(sentences, number)}
    for stage, folder in parses.items():
        manifests[stage] = found = _complete(folder, number)
        path = shard_path(folder, number)
        source = manifests["sentences"]
        if found.rows != source.rows or not is_parsed_from(found, source):
            raise ValueError(
                f"{path}: these are parses of another text, not of the sentences in {sentences}; "
                f"{remedy(path)}"
            )
        wanted = (parsers or {}).get(stage)
        _check_parser(path, found, wanted)
    return CorpusShard(number, sentences, parses, manifests)


def _complete(folder: Path, number: int) -> ShardManifest:
    manifest = read_verified_manifest(folder, number)
    if manifest is None:
        raise FileNotFoundError(
            f"{shard_path(folder, number)}: not complete; run the stage that writes it again"
        )
    return manifest


def _check_parser(path: Path, parsed: ShardManifest, wanted: str | None) -> None:
    found = checksum_of_weights(str(parsed.extra.get("parser_checksum", "")))
    if wanted is not None and found != checksum_of_weights(wanted):
        raise ValueError(
            f"{path}: parsed by {parsed.extra.get('parser', 'a parser without a name')!r} "
            f"(checksum {found[:12] or 'not known'}…), the encoder was trained with the parser of "
            f"checksum {wanted[:12]}…; give parses by that one"
        )


class _Rows:
    """Rows of a shard taken as many at a time as somebody else's groups have."""

    def __init__(self, folder: Path, stage: str, number: int) -> None:
        self._groups = read_row_groups(folder, stage, number, _COLUMNS[stage])
        self._left: list[pa.Table] = []

    def take(self, count: int) -> pa.Table:
        """Returns the next rows, of which there are as many."""
        while sum(table.num_rows for table in self._left) < count:
            self._left.append(next(self._groups))
        rows = pa.concat_tables(self._left)
        self._left = [rows.slice(count)] if rows.num_rows > count else []
        return rows.slice(0, count)
