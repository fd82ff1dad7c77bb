"""``check``: whether files, rows and trees are what manifests and schema say.

A stage's manifest is held against its shards, a shard's against its rows and its records of what
was refused, the stages against one another, and each row against what its stage means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.mistakes import DamagedError
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.inspect.aligned_rows import (
    ROWS_AT_ONCE,
    SENTENCES,
    Selection,
    StageFolder,
    rows_of,
)
from treeviews.pipeline.parsing.parse_shard import row_of
from treeviews.pipeline.shards.arrow import vectors_of
from treeviews.pipeline.shards.manifests import (
    MANIFEST_NAME,
    is_parsed_from,
    manifest_beside,
    parser_problems,
    quarantine_path,
    read_dataset_manifest,
    remedy,
    shard_path,
)
from treeviews.pipeline.shards.schema import COLUMNS, EMBEDDING, EMBEDDINGS
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.trees.flat_trees import ConstituencyParse, DependencyParse

TREE_COLUMNS = {
    "dependencies": ("heads", "deprels"),
    "constituents": ("span_starts", "span_ends", "span_labels", "tags"),
}
"""Columns in which the trees of a stage stand, without what follows from these."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong."""

    path: Path
    """The shard's file, or a stage's folder."""
    problem: str
    row: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        row = "" if self.row is None else f" row {self.row}"
        field = "" if self.field is None else f" field {self.field}"
        return f"{self.path}{row}{field}: {self.problem}"


def faults_of(selection: Selection) -> Iterator[Fault]:
    """Yields everything that is wrong with the stages of a selection."""
    sentences = selection.sentences
    if sentences is None and not selection.is_one_stage:
        corpus = selection.folders[0].path.parent
        yield Fault(corpus, "no sentences here, which its parses are of; copy them here")
    for folder in selection.folders:
        if selection.shard is None:
            yield from _stage_faults(folder, sentences)
        for number in selection.numbers_in(folder):
            yield from _shard_faults(folder, number, sentences)
    if sentences is not None:
        yield from _order_faults(sentences, selection.numbers_in(sentences))


def notes_of(selection: Selection) -> Iterator[str]:
    """Yields what went unchecked."""
    for folder in selection.parses if selection.sentences is None else ():
        yield f"note: {folder.path}: alignment not checked: no sentences beside it"


def _stage_faults(folder: StageFolder, sentences: StageFolder | None) -> Iterator[Fault]:
    """Compares a stage's manifest with the shards that are there, and these with the sentences'."""
    again = f"delete {MANIFEST_NAME} and run the stage again"
    present, missing = set(folder.numbers()), set(folder.missing())
    for number in sorted(missing):
        yield Fault(shard_path(folder.path, number), f"in the manifest but missing; {again}")
    try:
        shards = read_dataset_manifest(folder.path, folder.stage).shards
    except FileNotFoundError:
        yield Fault(folder.path, f"no {MANIFEST_NAME}: not complete; run the stage again")
    except ValueError as error:
        yield Fault(folder.path / MANIFEST_NAME, f"cannot be used ({error})")
    else:
        if unlisted := present.difference(shard.number for shard in shards):
            yield Fault(folder.path, f"has shards {sorted(unlisted)}, its manifest does not")
        for listed in shards:
            with suppress(ValueError):  # named where the shard is read
                own = manifest_beside(folder.path, listed.number)
                if own is not None and own.sha256 != listed.sha256:
                    problem = f"{MANIFEST_NAME} lists another shard {listed.number} than its own"
                    yield Fault(folder.path, f"{problem} manifest describes; {again}")
        for problem in parser_problems(shards):
            yield Fault(folder.path, problem)
    if sentences is not None:  # what is missing by a stage's own manifest is named already
        expected = {*sentences.numbers(), *sentences.missing()}
        if lacking := expected - present - missing:
            yield Fault(folder.path, f"lacks shards {sorted(lacking)} of the sentences")


def _shard_faults(
    folder: StageFolder, number: int, sentences: StageFolder | None
) -> Iterator[Fault]:
    """Checks one shard: its manifest, its records, its sentences, its rows."""
    path = shard_path(folder.path, number)
    try:
        manifest = manifest_beside(folder.path, number)
        table = read_shard(folder.path, folder.stage, number)
    except (ValueError, OSError) as error:
        yield Fault(path, f"cannot be read ({error})")
        return
    if manifest is None:
        yield Fault(path, f"has no manifest: it is not complete; {remedy(path)}")
        return
    records, expected = quarantine_path(path.parent, number), manifest.quarantine_sha256
    if expected and (not records.exists() or sha256_of_file(records) != expected):
        yield Fault(records, f"gone, or its sha256 differs from the manifest's; {remedy(path)}")
    if sentences is not None and folder != sentences:
        with suppress(ValueError, OSError):  # named where the sentences are checked
            source = manifest_beside(sentences.path, number)
            if source is not None and not is_parsed_from(manifest, source):
                problem = "was parsed from other sentences than those beside it"
                yield Fault(path, f"{problem}; {remedy(path)}")
            tokens = read_shard(sentences.path, SENTENCES, number, ["tokens"])["tokens"]
            if len(tokens) != table.num_rows:
                yield Fault(path, f"{table.num_rows} rows, the sentences have {len(tokens)}")
                return
            table = table.append_column("tokens", tokens)
    for row, field, problem in _row_faults(folder.stage, table):
        yield Fault(path, problem, row, field)


def _row_faults(stage: str, table: pa.Table) -> Iterator[tuple[int, str, str]]:
    """Yields (row, field, problem).

    Args:
        table: all of the stage's columns, and the sentences' ``tokens`` where these are at hand.
    """
    if stage == EMBEDDINGS:
        for start in range(0, table.num_rows, ROWS_AT_ONCE):
            vectors, _ = vectors_of(table[EMBEDDING].slice(start, ROWS_AT_ONCE))
            for position in np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist():
                yield start + position, EMBEDDING, "has a number that is not finite"
        return
    for position, row in enumerate(rows_of(table)):
        if stage == SENTENCES:
            is_right = row["tokens"] and all(row["tokens"])
            fault = None if is_right else ("tokens", "no token, or an empty one")
        else:
            fault = tree_fault(stage, row)
        if fault:
            yield position, *fault


def _order_faults(sentences: StageFolder, numbers: Iterable[int]) -> Iterator[Fault]:
    """Yields where a document is torn, or its indices do not rise, over shards in their order."""
    last: dict[str, int] = {}
    document = None
    for number in numbers:
        path, places = shard_path(sentences.path, number), ["document_id", "sentence_index"]
        with suppress(ValueError, OSError):  # named where the shard is read
            columns = read_shard(sentences.path, SENTENCES, number, places).columns
            rows = zip(*(column.to_pylist() for column in columns), strict=True)
            for row, (name, index) in enumerate(rows):
                if name in last and (name != document or index <= last[name]):
                    problem = f"sentence {index} of {name!r} stands apart from, or not after, "
                    yield Fault(path, f"{problem}its sentence {last[name]}", row, places[1])
                document, last[name] = name, index


def tree_of(stage: str, row: Mapping[str, Any]) -> Any:
    """Returns the tree of a row of a stage, right or not; None where it has none."""
    columns = [row[name] for name in TREE_COLUMNS[stage]]
    if None in columns:
        return None
    return DependencyParse(*columns) if stage == "dependencies" else ConstituencyParse(*columns)


def sound_tree(stage: str, row: Mapping[str, Any]) -> Any:
    """Returns the tree of a row of a stage; None where it has none.

    Raises:
        ValueError: it is damaged; names its place, the column and what is wrong with it.
    """
    if fault := tree_fault(stage, row):
        raise DamagedError(
            f"{row['shard']}:{row['row']} ({stage}, {fault[0]}): {fault[1]}; `inspect check` says "
            "what is damaged"
        )
    return tree_of(stage, row)


def tree_fault(stage: str, row: Mapping[str, Any]) -> tuple[str, str] | None:
    """Returns the column of a row that is wrong and the problem; None of a tree, or of none.

    Args:
        row: has the stage's columns, and its sentence's ``tokens`` where these are at hand.
    """
    columns = {name: row[name] for name in COLUMNS[stage]}
    tree = tree_of(stage, row)
    if None in columns.values():
        missing = next(name for name, value in columns.items() if value is None)
        is_refused = all(value is None for value in columns.values())
        return None if is_refused else (missing, "null, but other columns of the row are not")
    own: Any = tree.heads if isinstance(tree, DependencyParse) else tree.tags
    expected = row_of(tree, row.get("tokens", own))
    if isinstance(expected, Refusal):
        return TREE_COLUMNS[stage][0], expected.detail
    for name, value in expected.items():
        if columns[name] != value:
            return name, f"is {columns[name]}, the binarization of the spans is {value}"
    return None
