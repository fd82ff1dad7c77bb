"""``stats``: how much there is, how long, how often, how fast, and what was refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.base.foreign_text import printable
from pipeline.inspect.dataset import Selection, StageFolder
from pipeline.parsing.parse_shard import PARSER_FAULTS
from pipeline.shards.arrow import vectors_of
from pipeline.shards.manifests import CLEANED, ENCODER_DIGEST, MADE, ShardManifest, manifest_beside
from pipeline.shards.schema import EMBEDDING, EMBEDDINGS
from pipeline.shards.shards import read_row_groups, read_shard

COUNTED = {
    "dependencies": {"relations": "deprels"},
    "constituents": {"labels": "span_labels", "tags": "tags"},
}
"""Columns of which the most frequent values are named, by stage and by what they are called."""
TOP = 12
LENGTH_EDGES = (1, 6, 11, 16, 21, 31, 41, 61, 101)
BAR_CHARACTERS = 40


Facts = dict[str, Any]
"""What is known of a stage, as JSON has it; counts of several things are by name."""


def stats_of(selection: Selection) -> Iterator[Facts]:
    """Yields the statistics of every stage of a selection."""
    for folder in selection.folders:
        numbers = selection.numbers_in(folder)
        manifests = [m for n in numbers if (m := manifest_beside(folder.path, n)) is not None]
        facts = _manifest_facts(folder, manifests, len(numbers))
        complete = [manifest.number for manifest in manifests]
        if manifests and folder.stage == "sentences":
            facts |= _sentence_facts(folder, complete)
        if manifests and folder.stage == EMBEDDINGS:
            facts |= _embedding_facts(folder, manifests)
        for name, column in COUNTED.get(folder.stage, {}).items() if manifests else ():
            facts[name] = _counted(folder, column, complete)
        yield facts


def stats_lines(selection: Selection) -> Iterator[str]:
    """Yields the same as lines for people."""
    for facts in stats_of(selection):
        yield f"{facts['stage']}  {facts['path']}"
        yield from _manifest_lines(facts)
        if "documents" in facts:
            yield from _sentence_lines(facts)
        if "width" in facts:
            yield from _embedding_lines(facts)
        for name in COUNTED.get(facts["stage"], {}):
            if name in facts:
                yield _line(name, _top(facts[name]))
        yield ""


def _manifest_facts(folder: StageFolder, manifests: list[ShardManifest], num_files: int) -> Facts:
    incomplete = [*folder.gaps()]
    if num_files > len(manifests):
        incomplete.insert(0, f"{num_files - len(manifests)} shards have no manifest")
    refused: Counter[str] = Counter()
    made: Counter[str] = Counter()
    cleaned: Counter[str] = Counter()
    for manifest in manifests:
        refused.update(manifest.drops)
        made.update(manifest.extra.get(MADE, {}))
        cleaned.update(manifest.extra.get(CLEANED, {}))
    parsers = {
        (m.extra["parser"], m.extra["parser_checksum"]) for m in manifests if "parser" in m.extra
    }
    return {
        "stage": folder.stage,
        "path": str(folder.path),
        "shards": len(manifests),
        "rows": sum(manifest.rows for manifest in manifests),
        "bytes": sum(manifest.bytes for manifest in manifests),
        "seconds": sum(manifest.seconds for manifest in manifests),
        "incomplete": incomplete,
        "refused": dict(refused),
        "failed": parser_failures(folder, manifests),
        "repaired_characters": sum(m.extra.get("repaired_characters", 0) for m in manifests),
        "cleaned": dict(cleaned),
        "made_by": dict(made),
        "parsers": [{"name": name, "checksum": checksum} for name, checksum in sorted(parsers)],
    }


def _manifest_lines(facts: Facts) -> Iterator[str]:
    rows, seconds = facts["rows"], facts["seconds"]
    yield _line("rows", f"{rows:,} in {facts['shards']:,} shard{'s' * (facts['shards'] != 1)}")
    yield _line("bytes", f"{facts['bytes']:,} ({facts['bytes'] / max(rows, 1):.1f} a sentence)")
    yield _line(
        "seconds", f"{seconds:,.1f} ({rows / max(seconds, 1e-9):,.0f} sentences/s a process)"
    )
    for gap in facts["incomplete"]:
        yield _line("incomplete", gap)
    # A refused sentence keeps its row in a parsed stage, and has none among the sentences.
    refused = facts["refused"]
    total = rows + sum(refused.values()) if facts["stage"] == "sentences" else rows
    yield _line("refused", _counts(refused, total) if refused else "none")
    if facts["failed"]:
        yield _line("failed", facts["failed"])
    if facts["repaired_characters"]:
        yield _line("repaired", f"{facts['repaired_characters']:,} characters")
    if cleaned := sorted(facts["cleaned"].items()):
        changes = ", ".join(f"{printable(name)} {count:,}" for name, count in cleaned)
        yield _line("cleaned", f"paragraphs changed: {changes}")
    if made := facts["made_by"]:  # a corpus of pairs
        yield _line("made by", _counts(made, sum(made.values())))
    for parser in facts["parsers"]:
        yield _line("parser", printable(f"{parser['name']} {parser['checksum']}"))


def parser_failures(folder: StageFolder, manifests: Iterable[ShardManifest]) -> str:
    """Returns how many sentences failed in the parser and where they stand, or nothing."""
    count = sum(m.drops.get(reason, 0) for m in manifests for reason in PARSER_FAULTS)
    if not count:
        return ""
    where = folder.path / "*.quarantine.jsonl"
    return f"{count:,} rows by the parser's own fault; their details stand in {where}"


def _sentence_facts(folder: StageFolder, numbers: list[int]) -> Facts:
    lengths_of_shards, documents = [], set()
    for number in numbers:
        table = read_shard(folder.path, "sentences", number, ["document_id", "tokens"])
        lengths_of_shards.append(pc.list_value_length(table["tokens"]).to_numpy())
        documents.update(pc.unique(table["document_id"].cast(pa.string())).to_pylist())
    lengths = np.concatenate(lengths_of_shards)
    if not len(lengths):
        return {"documents": len(documents)}
    median, most, nearly_all = np.quantile(lengths, [0.5, 0.9, 0.99])
    counts, _ = np.histogram(lengths, bins=[*LENGTH_EDGES, max(lengths.max() + 1, 102)])
    bounds = [f"{low}-{high - 1}" for low, high in pairwise(LENGTH_EDGES)]
    return {
        "documents": len(documents),
        "tokens": int(lengths.sum()),
        "tokens_a_row": {
            "mean": float(lengths.mean()),
            "median": float(median),
            "90%": float(most),
            "99%": float(nearly_all),
            "least": int(lengths.min()),
            "most": int(lengths.max()),
        },
        "rows_by_tokens": dict(
            zip([*bounds, f"{LENGTH_EDGES[-1]}-"], counts.tolist(), strict=True)
        ),
    }


def _sentence_lines(facts: Facts) -> Iterator[str]:
    yield _line("documents", f"{facts['documents']:,}")
    if "tokens" not in facts:
        return
    yield _line("tokens", f"{facts['tokens']:,}")
    of_row = facts["tokens_a_row"]
    yield _line(
        "tokens a row",
        f"mean {of_row['mean']:.1f}, median {of_row['median']:.0f}, 90% {of_row['90%']:.0f}, "
        f"99% {of_row['99%']:.0f}, from {of_row['least']} to {of_row['most']}",
    )
    counts = facts["rows_by_tokens"]
    for bound, count in counts.items():
        bar = "█" * round(BAR_CHARACTERS * count / max(counts.values()))
        yield f"  {bound:>13}  {count:>9,}  {bar}".rstrip()


def _embedding_facts(folder: StageFolder, manifests: list[ShardManifest]) -> Facts:
    """Returns width, type and lengths of a stage's vectors, from one row group at a time."""
    squares = [np.zeros(0)]
    nulls = 0
    for manifest in manifests:
        for group in read_row_groups(folder.path, EMBEDDINGS, manifest.number):
            vectors, is_null = vectors_of(group[EMBEDDING])
            nulls += int(is_null.sum())
            given = vectors[~is_null].astype(np.float32)
            squares.append(np.einsum("nd,nd->n", given, given))
    lengths = np.sqrt(np.concatenate(squares))
    made = sorted({(str(m.extra["encoder"]), str(m.extra[ENCODER_DIGEST])) for m in manifests})
    facts: Facts = {
        "width": sorted({int(m.extra["width"]) for m in manifests}),
        "dtype": sorted({str(m.extra["dtype"]) for m in manifests}),
        "encoders": [{"name": name, "digest": digest} for name, digest in made],
        "nulls": nulls,
        "zeros": int((lengths == 0).sum()),
    }
    if len(lengths):
        facts["norms"] = {
            "mean": float(lengths.mean()),
            "median": float(np.median(lengths)),
            "least": float(lengths.min()),
            "most": float(lengths.max()),
        }
    return facts


def _embedding_lines(facts: Facts) -> Iterator[str]:
    for encoder in facts["encoders"]:
        yield _line("encoder", printable(f"{encoder['name']} {encoder['digest']}"))
    widths, types = map(str, facts["width"]), facts["dtype"]
    yield _line("vectors", f"{', '.join(types)}, {', '.join(widths)} numbers each")
    yield _line("nulls", f"{facts['nulls']:,}")
    if "norms" in facts:
        norms = facts["norms"]
        yield _line(
            "norms",
            f"mean {norms['mean']:.3f}, median {norms['median']:.3f}, from {norms['least']:.3f} "
            f"to {norms['most']:.3f}; {facts['zeros']:,} are zero",
        )


def _counted(folder: StageFolder, column: str, numbers: list[int]) -> dict[str, int]:
    """Returns how often each value of a dictionary-encoded list column stands, most often first."""
    counts: Counter[str] = Counter()
    for number in numbers:
        values = pc.list_flatten(read_shard(folder.path, folder.stage, number, [column])[column])
        for entry in pc.value_counts(values.cast(pa.string())).to_pylist():
            counts[entry["values"]] += entry["counts"]
    return dict(counts.most_common())


def _top(counts: Mapping[str, int]) -> str:
    """Returns the most frequent values in words."""
    top = dict(list(counts.items())[:TOP])
    return _counts(top, sum(counts.values()))


def _counts(counts: Mapping[str, int], total: int) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(
        f"{printable(name)} {count:,} ({count / total:.1%})" for name, count in ordered
    )


def _line(name: str, value: str) -> str:
    return f"  {name:>13}  {value}"
