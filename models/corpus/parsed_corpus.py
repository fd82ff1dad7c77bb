"""Reads a parsed corpus: zips the shards of its stages by row and yields flat arrays.

One shard is in memory at a time, so memory does not grow with the corpus. A row in which a needed
column is null is skipped and counted; ``sentence_index`` then shows the gap, so no context pair
is made across it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treeviews.models.config.held_out import HoldOut
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.views import COLUMNS, needed_stages
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.words.word_vectors import Coverage, WordVectors
from treeviews.pipeline.base.settings import Settings
from treeviews.pipeline.shards.manifests import (
    DatasetManifest,
    check_parsed_from,
    read_dataset_manifest,
    shard_path,
)
from treeviews.pipeline.shards.shards import read_shard

Part = Literal["train", "held_out", "all"]

_SENTENCE_COLUMNS = ("document_id", "sentence_index", "tokens")


class CorpusFolders(Settings):
    """The dataset folders of one corpus; only the views' own parses are needed."""

    called: ClassVar[str] = "corpus folder"

    sentences: Path
    dependencies: Path | None = None
    constituents: Path | None = None

    def needed_by(self, views: Sequence[str]) -> dict[str, Path]:
        """Returns the folder of each stage that these views read.

        Raises:
            ValueError: a folder is not given.
        """
        folders = {"sentences": self.sentences}
        for stage in needed_stages(views):
            folder = getattr(self, stage)
            if folder is None:
                raise ValueError(f"views {', '.join(views)} need the {stage} folder of the corpus")
            folders[stage] = folder
        return folders


@dataclass(frozen=True, slots=True, eq=False)
class CorpusSurvey:
    """What is found in a part of a corpus."""

    rows: tuple[int, ...]
    """Usable sentences of each shard."""
    skipped: dict[str, int]
    """Sentences of the chosen part that were left out, by reason."""
    coverage: Coverage
    """How the usable sentences' tokens are covered by the word vectors."""
    word_counts: NDArray[np.int64]
    """[V]; how often each word of the vocabulary stands in the usable sentences, unknown ones as
    id 0."""

    @property
    def num_sentences(self) -> int:
        """Usable sentences of all shards."""
        return sum(self.rows)


class ParsedCorpus:
    """The chosen sentences of a corpus, shard by shard."""

    def __init__(
        self,
        folders: CorpusFolders,
        vectors: WordVectors,
        *,
        views: Sequence[str],
        config: TrainingConfig | None = None,
        part: Part = "all",
    ) -> None:
        """Opens the folders and checks that their shards have the same rows.

        Args:
            config: of the training whose sentences these are: what it holds out, and what is too
                long for it; None takes all.
            part: sentences for training, held-out sentences, or all.

        Raises:
            FileNotFoundError: a stage is not complete.
            ValueError: a folder is missing or holds another stage, or shards do not match.
        """
        self._part = part
        self._hold_out = HoldOut() if config is None else config.hold_out
        self._max_tokens = None if config is None else config.max_tokens
        self._vectors = vectors
        self._folders = folders.needed_by(views)
        self._columns = {"sentences": _SENTENCE_COLUMNS, **COLUMNS}
        self._manifests = {
            stage: read_dataset_manifest(folder, stage) for stage, folder in self._folders.items()
        }
        self._shard_rows = _matching_rows(self._folders, self._manifests)
        self._first_rows = np.concatenate([[0], np.cumsum(self._shard_rows)]).astype(np.int64)

    @property
    def num_shards(self) -> int:
        """Shards of the corpus; equal in all stages."""
        return len(self._shard_rows)

    def read(self, number: int) -> SentenceBlock:
        """Returns the chosen sentences of a shard, in order; may be empty.

        Raises:
            ValueError: a parse does not fit its sentence; the message names file and row.
        """
        return self._load(number)[0]

    def blocks(self) -> Iterator[SentenceBlock]:
        """Yields the chosen sentences of each shard, in the dataset's order."""
        return (self.read(number) for number in range(self.num_shards))

    def survey(self) -> CorpusSurvey:
        """Reads everything once and counts it."""
        rows: list[int] = []
        skipped: Counter[str] = Counter()
        coverage = Coverage()
        num_words = self._vectors.num_words
        counts = np.zeros(num_words, dtype=np.int64)
        for number in range(self.num_shards):
            block, skipped_here, coverage_here = self._load(number)
            rows.append(len(block))
            skipped.update(skipped_here)
            coverage += coverage_here
            counts += np.bincount(block.token_ids, minlength=num_words)
        return CorpusSurvey(tuple(rows), dict(sorted(skipped.items())), coverage, counts)

    def _load(self, number: int) -> tuple[SentenceBlock, Counter[str], Coverage]:
        table = self._read_table(number)
        documents = table["document_id"].cast(pa.string()).combine_chunks().dictionary_encode()
        chosen = np.ones(len(table), dtype=np.bool_)
        if self._part != "all":
            held_out = self._hold_out.mask(table)
            chosen = held_out if self._part == "held_out" else ~held_out
        chosen, skipped = self._usable(table, chosen)
        rows = np.flatnonzero(chosen)
        for stage in list(self._folders)[1:]:
            path = shard_path(self._folders[stage], number)
            check_lengths(path, stage, table, table["tokens"])
        table = table.filter(pa.array(chosen)).combine_chunks()
        token_ids, coverage = self._vectors.token_ids(pc.list_flatten(table["tokens"]))
        offsets = np.concatenate([[0], np.cumsum(_list_lengths(table["tokens"]))]).astype(np.int64)
        trees = {
            name: pc.list_flatten(table[name]).to_numpy()
            for stage in list(self._folders)[1:]
            for name in self._columns[stage]
        }
        block = SentenceBlock(
            token_ids=token_ids,
            offsets=offsets,
            documents=documents.indices.to_numpy().astype(np.int32)[rows],
            sentence_index=table["sentence_index"].to_numpy(),
            rows=rows + self._first_rows[number],
            **trees,
        )
        return block, skipped, coverage

    def _read_table(self, number: int) -> pa.Table:
        """Returns the needed columns of all stages side by side."""
        columns = {}
        for stage, folder in self._folders.items():
            sha256 = self._manifests[stage].shards[number].sha256
            part = read_shard(folder, stage, number, self._columns[stage], sha256=sha256)
            columns.update({name: part[name] for name in part.column_names})
        return pa.table(columns)

    def _usable(
        self, table: pa.Table, chosen: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], Counter[str]]:
        """Returns the mask of chosen rows that can be used, and the others counted by reason."""
        causes = {
            f"no_{stage}": table[self._columns[stage][0]].is_null().to_numpy()
            for stage in self._folders
            if stage != "sentences"
        }
        if self._max_tokens is not None:
            causes["too_long"] = _list_lengths(table["tokens"]) > self._max_tokens
        skipped: Counter[str] = Counter()
        for reason, applies in causes.items():
            count = int((chosen & applies).sum())
            if count:
                skipped[reason] = count
            chosen = chosen & ~applies
        return chosen, skipped


def _matching_rows(
    folders: Mapping[str, Path], manifests: Mapping[str, DatasetManifest]
) -> tuple[int, ...]:
    """Returns the rows of each shard after checking that all stages agree on them."""
    rows = {
        stage: tuple(shard.rows for shard in manifest.shards)
        for stage, manifest in manifests.items()
    }
    expected = rows["sentences"]
    for stage, of_shards in rows.items():
        if of_shards != expected:
            raise ValueError(
                f"{folders[stage]}: {sum(of_shards):,} rows in {len(of_shards)} shards, but "
                f"{folders['sentences']} has {sum(expected):,} in {len(expected)}; these are "
                "parses of another corpus"
            )
        if stage != "sentences":
            check_parsed_from(folders[stage], manifests[stage], manifests["sentences"])
    return expected


def check_lengths(
    path: Path, stage: str, parses: pa.Table, tokens: pa.ChunkedArray, first: int = 0
) -> None:
    """Refuses parses of other sentences; a null is a sentence without one.

    Args:
        path: of the parses' shard.
        parses: has the stage's columns.
        tokens: of the same rows.
        first: the shard's row that comes first here.

    Raises:
        ValueError: names file and row, and the remedy.
    """
    expected = pc.subtract(pc.list_value_length(tokens), int(stage == "constituents"))
    for name in COLUMNS[stage]:
        differs = pc.not_equal(pc.list_value_length(parses[name]), expected)
        if (row := pc.index(differs, True).as_py()) >= 0:
            raise ValueError(
                f"{path}: row {first + row}: {name} does not fit a sentence of "
                f"{len(tokens[row])} tokens; these are parses of another text, run the parser on "
                "this corpus"
            )


def _list_lengths(column: pa.ChunkedArray) -> NDArray[np.int64]:
    lengths: NDArray[np.int32] = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    return lengths.astype(np.int64)
