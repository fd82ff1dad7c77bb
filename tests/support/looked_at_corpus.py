"""A small corpus with both parses of every sentence but one, to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.shard_files import Rows, write_rows, write_stage
from treeviews.pipeline.shards.manifests import read_shard_manifest, write_dataset_manifest
from treeviews.pipeline.trees.flat_trees import binarize
from treeviews.pipeline.trees.treebanks import flatten, scan_brackets

BRACKETS = (
    "(S (NP (DT The) (JJ old) (NN owl)) (VP (VBD saw) (NP (DT a) (NN mouse))) (. .))",
    "(S+VP (VB Run) (. .))",
    "(S (NP (DT The) (NN mouse)) (VP (VBD was) (VP (VBN seen))) (. .))",
    "(S (NP (PRP It)) (VP (VBD hid)))",
)
ARCS = (
    ([3, 3, 4, 0, 6, 4, 4], ["det", "amod", "nsubj", "root", "det", "obj", "punct"]),
    ([0, 1], ["root", "punct"]),
    ([2, 4, 4, 0, 4], ["det", "nsubj:pass", "aux:pass", "root", "punct"]),
    (None, None),
)
PLACES = (("first", 0), ("first", 1), ("second", 0), ("second", 2))


def constituent_row(brackets: str) -> tuple[list[str], dict[str, Any]]:
    """Returns a tree's words, and the columns of its constituents."""
    (root,) = scan_brackets([brackets])
    tokens, parse = flatten(root)
    tree = binarize(parse)
    return tokens, {
        "span_starts": parse.starts,
        "span_ends": parse.ends,
        "span_labels": parse.labels,
        "tags": parse.tags,
        "binary_left": tree.left,
        "binary_right": tree.right,
    }


def sentence_rows_of(places: Sequence[tuple[str, int]] = PLACES) -> Rows:
    """Returns the sentences' own columns."""
    return [
        {"document_id": name, "sentence_index": index, "tokens": constituent_row(brackets)[0]}
        for (name, index), brackets in zip(places, BRACKETS, strict=True)
    ]


def dependency_rows() -> list[dict[str, Any]]:
    """Returns the dependencies' columns; the last sentence has none."""
    return [{"heads": heads, "deprels": deprels} for heads, deprels in ARCS]


def write_looked_at(folder: Path) -> Path:
    """Writes the corpus in two shards of two sentences; returns its folder."""
    sentences = sentence_rows_of()
    write_stage(folder / "sentences", "sentences", sentences[:2], sentences[2:])
    write_parse(folder / "dependencies-x", "dependencies", dependency_rows())
    trees = [constituent_row(brackets)[1] for brackets in BRACKETS]
    write_parse(folder / "constituents-x", "constituents", trees)
    return folder


def write_parse(folder: Path, stage: str, rows: Rows) -> None:
    """Writes a parse of the corpus; rows of nulls are recorded as refused."""
    for number, some in enumerate((rows[:2], rows[2:])):
        source = read_shard_manifest(folder.parent / "sentences", number)
        assert source is not None
        refused = [place for place, row in enumerate(some) if None in row.values()]
        write_rows(
            folder,
            stage,
            number,
            some,
            drops={"odd": len(refused)} if refused else {},
            quarantine=[{"row": row, "reason": "odd", "detail": "too odd"} for row in refused],
            extra={
                "sentences_sha256": source.sha256,
                "parser": "tiny",
                "parser_checksum": "c0ffee",
            },
        )
    write_dataset_manifest(folder, stage, config={})
