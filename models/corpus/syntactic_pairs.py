"""A corpus of pairs that syntax makes: each sentence beside what its tree makes of it.

Contrastive context prediction reads it as any parsed corpus. A group is a document of its own: a
positive, which is the sentence's neighbour, and hard negatives, which are not, for a gap stands
before each. A batch of such groups asks of an encoder to tell what a sentence says from what others
say, and from what it would say with its words in other places.

Differs from context prediction of text: both of a pair say the same, where neighbours in a text
merely speak of the same things.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pyarrow as pa

from models.config.held_out import HoldOut
from models.corpus.parsed_corpus import CorpusFolders
from pipeline.base.config_fields import Config, Count, Natural
from pipeline.base.digest import digest_of
from pipeline.shards.manifests import (
    MADE,
    PARSED_FROM,
    ShardManifest,
    check_parsed_from,
    read_dataset_manifest,
    read_shard_manifest,
    shard_path,
    write_dataset_manifest,
)
from pipeline.shards.schema import STAGES
from pipeline.shards.shards import read_shard, write_shard
from pipeline.transformations.registry import (
    TRANSFORMATIONS,
    TRANSFORMATIONS_VERSION,
    Kind,
    Transformation,
)
from pipeline.transformations.sentence_tree import SentenceTree
from pipeline.trees.binarize import binarize

PAIRS_VERSION = 1
"""Raised when other groups are made of the same sentences and transformations."""
GAP = 1_000
"""Between the positions of a group's negatives; wider than any context."""
MADE_FROM = "made_from"
"""Key of a digest of all that determined a shard."""


@dataclass(frozen=True, slots=True)
class PairsConfig(Config):
    """How many of what can be made of a sentence are taken, each by another transformation."""

    called: ClassVar[str] = "setting of pairs"

    positives: Count = 2
    """At most; each is a group of its own, in which the sentence stands again."""
    negatives: Natural = 1
    """At most, in each group."""
    seed: int = 0
    held_out_block_sentences: Count = 50
    """Where blocks of sentences are held out; as the training has it."""

    def describe(self, hold_out: HoldOut) -> dict[str, Any]:
        """Returns all that determines the groups of a parsed corpus."""
        versions = {"pairs": PAIRS_VERSION, "transformations": TRANSFORMATIONS_VERSION}
        return {"pairs": self.to_dict(), "versions": versions, "hold_out": hold_out.to_dict()}


@dataclass(frozen=True, slots=True)
class Group:
    """A sentence, its positive and its hard negatives."""

    name: str
    """The sentence's document, its position there, and the positive's transformation."""
    trees: tuple[SentenceTree, ...]
    made_by: tuple[str, ...]
    """Names of the transformations that made all but the first."""


def make_pairs(
    corpus: CorpusFolders,
    out: CorpusFolders,
    config: PairsConfig,
    hold_out: HoldOut,
    *,
    on_progress: Callable[[float, str], None] | None = None,
) -> None:
    """Writes the groups of a parsed corpus as a parsed corpus, shard by shard.

    Groups stand in random order within a shard, so that successive ones are of many documents.
    Shards that stand are kept. Of each shard the manifest says how many sentences every
    transformation made; sentences without a positive, and those without both trees, are counted
    as dropped. Only sentences for training are read.

    Args:
        corpus: complete, with both parse stages.
        out: folders of the three new stages.
        hold_out: which sentences are not for training; these are left out, uncounted.

    Raises:
        FileNotFoundError: a stage of the corpus is not complete.
        ValueError: stages do not fit together; no sentence of the corpus gives a pair; or shards
            stand that were made otherwise, or of other sentences.
    """
    sources, folders = _folders(corpus), _folders(out)
    manifests = {name: read_dataset_manifest(path, name) for name, path in sources.items()}
    for name in ("dependencies", "constituents"):
        check_parsed_from(sources[name], manifests[name], manifests["sentences"])
    num_shards = len(manifests["sentences"].shards)
    num_rows = 0
    for number in range(num_shards):
        shards = {name: manifest.shards[number] for name, manifest in manifests.items()}
        num_rows += _make_shard(sources, shards, folders, config, hold_out)
        if on_progress is not None:
            on_progress((number + 1) / num_shards, f"{number + 1} of {num_shards} shards")
    if not num_rows:
        raise ValueError(
            f"{sources['sentences']}: no sentence for training gives a pair; give more text, or "
            "hold out less of it"
        )
    for name, folder in folders.items():
        write_dataset_manifest(
            folder, name, config=config.describe(hold_out), num_shards=num_shards
        )


def groups_of(tree: SentenceTree, name: str, config: PairsConfig) -> Iterator[Group]:
    """Yields a sentence's groups; none where no positive can be made of it.

    Which transformations are taken, and where each applies, is drawn by seed and name.

    Args:
        name: of the sentence among all; groups are called after it.
    """
    random = Random(f"{config.seed}:{name}")
    positives = _drawn(tree, "positive", random)
    negatives = _drawn(tree, "negative", random) if positives else []
    for place, (by, positive) in enumerate(positives[: config.positives]):
        # Each group takes others, as far as they go.
        turned = [*negatives[place % max(len(negatives), 1) :], *negatives][: len(negatives)]
        taken = [(by, positive), *turned[: config.negatives]]
        names, trees = zip(*taken, strict=True)
        yield Group(f"{name} ({by})", (tree, *trees), names)


def _drawn(tree: SentenceTree, kind: Kind, random: Random) -> list[tuple[str, SentenceTree]]:
    """Returns one sentence of each transformation of a kind that applies, in random order."""
    chosen: list[Transformation] = [t for t in TRANSFORMATIONS.values() if t.kind == kind]
    random.shuffle(chosen)
    made = ((t.name, t.drawn(tree, random.getrandbits(32))) for t in chosen)
    return [(name, result) for name, result in made if result is not None]


def _folders(corpus: CorpusFolders) -> dict[str, Path]:
    """Returns the folder of each stage.

    Raises:
        ValueError: a parse stage is not given.
    """
    found = {name: getattr(corpus, name) for name in STAGES}
    if missing := [name for name, folder in found.items() if folder is None]:
        raise ValueError(
            f"pairs are made from both trees of a sentence; no {' and '.join(missing)}"
        )
    return found


def _make_shard(
    sources: Mapping[str, Path],
    shards: Mapping[str, ShardManifest],
    folders: Mapping[str, Path],
    config: PairsConfig,
    hold_out: HoldOut,
) -> int:
    """Writes one shard of each stage, unless all stand; returns its rows."""
    number = shards["sentences"].number
    made_from = digest_of(
        {**config.describe(hold_out), **{name: shard.sha256 for name, shard in shards.items()}}
    )
    standing = [read_shard_manifest(folder, number) for folder in folders.values()]
    for folder, shard in zip(folders.values(), standing, strict=True):
        if shard is not None and shard.extra.get(MADE_FROM) != made_from:
            raise ValueError(
                f"{shard_path(folder, number)}: pairs of other sentences, or made otherwise; give "
                "another folder, or delete this one"
            )
    if standing[0] is not None and all(standing):
        return standing[0].rows
    started = time.monotonic()
    drops: Counter[str] = Counter()
    groups = list(_groups(sources, shards, config, hold_out, drops))
    Random(f"{config.seed}:{number}").shuffle(groups)
    made = Counter(name for group in groups for name in group.made_by)
    rows = [row for group in groups for row in _rows(group)]
    sentences: ShardManifest | None = None
    for name, folder in folders.items():
        schema = STAGES[name]
        table = pa.Table.from_pylist([{k: row[k] for k in schema.names} for row in rows], schema)
        extra: dict[str, Any] = {MADE_FROM: made_from, MADE: dict(sorted(made.items()))}
        if sentences is not None:
            kept = ("parser", "parser_checksum", "device", "precision")
            facts = shards[name].extra
            extra = {MADE_FROM: made_from, PARSED_FROM: sentences.sha256}
            extra |= {key: facts[key] for key in kept if key in facts}
        seconds, started = time.monotonic() - started, time.monotonic()
        counted = drops if sentences is None else {}
        shard = write_shard(
            folder, name, number, table, drops=counted, extra=extra, seconds=seconds
        )
        sentences = sentences or shard
    return len(rows)


def _groups(
    sources: Mapping[str, Path],
    shards: Mapping[str, ShardManifest],
    config: PairsConfig,
    hold_out: HoldOut,
    drops: Counter[str],
) -> Iterator[Group]:
    for row in _training_rows(sources, shards, hold_out):
        tree = SentenceTree.from_row(row)
        if tree is None:
            drops["no_tree"] += 1
            continue
        found = False
        for group in groups_of(tree, f"{row['document_id']}:{row['sentence_index']}", config):
            found = True
            yield group
        drops["no_positive"] += not found


def _training_rows(
    sources: Mapping[str, Path], shards: Mapping[str, ShardManifest], hold_out: HoldOut
) -> Iterator[dict[str, Any]]:
    """Yields the rows of a shard that are for training, with the columns of all stages."""
    columns: dict[str, Any] = {}
    for name, folder in sources.items():
        table = read_shard(folder, name, shards[name].number, sha256=shards[name].sha256)
        columns.update({column: table[column] for column in table.column_names})
    whole = pa.table(columns)
    documents = whole["document_id"].cast(pa.string()).combine_chunks().dictionary_encode()
    held_out = hold_out.mask(
        documents.dictionary.to_pylist(),
        documents.indices.to_numpy(),
        whole["sentence_index"].to_numpy(),
    )
    for batch in whole.filter(pa.array(~held_out)).to_batches(max_chunksize=1_000):
        yield from batch.to_pylist()


def _rows(group: Group) -> Iterator[dict[str, Any]]:
    """Yields the columns of all stages for each sentence of a group."""
    for place, tree in enumerate(group.trees):
        binary = binarize(tree.constituents)
        yield {
            "document_id": group.name,
            "sentence_index": place if place < 2 else (place - 1) * GAP,
            "tokens": list(tree.tokens),
            "heads": list(tree.heads),
            "deprels": list(tree.deprels),
            "span_starts": list(tree.starts),
            "span_ends": list(tree.ends),
            "span_labels": list(tree.labels),
            "tags": list(tree.tags),
            "binary_left": list(binary.left),
            "binary_right": list(binary.right),
        }
