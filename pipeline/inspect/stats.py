"""``stats``: how much there is, how long, how often, how fast, and what was refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.base.foreign_text import printable
from pipeline.inspect.dataset import Selection, StageFolder
from pipeline.parsing.parse_shard import PARSER_FAULTS
from pipeline.shards.manifests import MADE, ShardManifest, manifest_beside
from pipeline.shards.shards import read_shard

COUNTED = {
    "dependencies": {"relations": "deprels"},
    "constituents": {"labels": "span_labels", "tags": "tags"},
}
"""Columns of which the most frequent values are named, by stage and by what they are called."""
TOP = 12
LENGTH_EDGES = (1, 6, 11, 16, 21, 31, 41, 61, 101)
BAR_CHARACTERS = 40


def stats_lines(selection: Selection) -> Iterator[str]:
    """Yields the statistics of every stage of a selection."""
    for folder in selection.folders:
        numbers = selection.numbers_in(folder)
        manifests = [m for n in numbers if (m := manifest_beside(folder.path, n)) is not None]
        yield f"{folder.stage}  {folder.path}"
        yield from _manifest_lines(folder, manifests, len(numbers))
        complete = [manifest.number for manifest in manifests]
        if manifests and folder.stage == "sentences":
            yield from _sentence_lines(folder, complete)
        for name, column in COUNTED.get(folder.stage, {}).items() if manifests else ():
            yield _line(name, _top(folder, column, complete))
        yield ""


def _manifest_lines(
    folder: StageFolder, manifests: list[ShardManifest], num_files: int
) -> Iterator[str]:
    rows = sum(manifest.rows for manifest in manifests)
    size = sum(manifest.bytes for manifest in manifests)
    seconds = sum(manifest.seconds for manifest in manifests)
    yield _line("rows", f"{rows:,} in {len(manifests):,} shards")
    yield _line("bytes", f"{size:,} ({size / max(rows, 1):.1f} a sentence)")
    yield _line(
        "seconds", f"{seconds:,.1f} ({rows / max(seconds, 1e-9):,.0f} sentences/s a process)"
    )
    if num_files > len(manifests):
        yield _line("incomplete", f"{num_files - len(manifests)} shards have no manifest")
    for gap in folder.gaps():
        yield _line("incomplete", gap)
    drops: Counter[str] = Counter()
    for manifest in manifests:
        drops.update(manifest.drops)
    # A refused sentence keeps its row in a parsed stage, and has none among the sentences.
    total = rows + sum(drops.values()) if folder.stage == "sentences" else rows
    yield _line("refused", _counts(drops, total) if drops else "none")
    failures = parser_failures(folder, manifests)
    if failures:
        yield _line("failed", failures)
    repaired = sum(manifest.extra.get("repaired_characters", 0) for manifest in manifests)
    if repaired:
        yield _line("repaired", f"{repaired:,} characters")
    made: Counter[str] = Counter()
    for manifest in manifests:
        made.update(manifest.extra.get(MADE, {}))
    if made:  # a corpus of pairs
        yield _line("made by", _counts(made, made.total()))
    parsers = {
        (m.extra["parser"], m.extra["parser_checksum"]) for m in manifests if "parser" in m.extra
    }
    for name, checksum in sorted(parsers):
        yield _line("parser", printable(f"{name} {checksum}"))


def parser_failures(folder: StageFolder, manifests: Iterable[ShardManifest]) -> str:
    """Returns how many sentences failed in the parser and where they stand, or nothing."""
    count = sum(m.drops.get(reason, 0) for m in manifests for reason in PARSER_FAULTS)
    if not count:
        return ""
    where = folder.path / "*.quarantine.jsonl"
    return f"{count:,} rows by the parser's own fault; their details stand in {where}"


def _sentence_lines(folder: StageFolder, numbers: list[int]) -> Iterator[str]:
    lengths_of_shards, documents = [], set()
    for number in numbers:
        table = read_shard(folder.path, "sentences", number, ["document_id", "tokens"])
        lengths_of_shards.append(pc.list_value_length(table["tokens"]).to_numpy())
        documents.update(pc.unique(table["document_id"].cast(pa.string())).to_pylist())
    lengths = np.concatenate(lengths_of_shards)
    yield _line("documents", f"{len(documents):,}")
    if not len(lengths):
        return
    quantiles = np.quantile(lengths, [0.5, 0.9, 0.99])
    yield _line("tokens", f"{lengths.sum():,}")
    yield _line(
        "tokens a row",
        f"mean {lengths.mean():.1f}, median {quantiles[0]:.0f}, 90% {quantiles[1]:.0f}, "
        f"99% {quantiles[2]:.0f}, from {lengths.min()} to {lengths.max()}",
    )
    counts, _ = np.histogram(lengths, bins=[*LENGTH_EDGES, max(lengths.max() + 1, 102)])
    bounds = [f"{low}-{high - 1}" for low, high in pairwise(LENGTH_EDGES)]
    for bound, count in zip([*bounds, f"{LENGTH_EDGES[-1]}-"], counts, strict=True):
        bar = "█" * round(BAR_CHARACTERS * count / counts.max())
        yield f"  {bound:>13}  {count:>9,}  {bar}".rstrip()


def _top(folder: StageFolder, column: str, numbers: list[int]) -> str:
    """Returns the most frequent values of a dictionary-encoded list column."""
    counts: Counter[str] = Counter()
    for number in numbers:
        values = pc.list_flatten(read_shard(folder.path, folder.stage, number, [column])[column])
        for entry in pc.value_counts(values.cast(pa.string())).to_pylist():
            counts[entry["values"]] += entry["counts"]
    return _counts(dict(counts.most_common(TOP)), counts.total())


def _counts(counts: Mapping[str, int], total: int) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(
        f"{printable(name)} {count:,} ({count / total:.1%})" for name, count in ordered
    )


def _line(name: str, value: str) -> str:
    return f"  {name:>13}  {value}"
