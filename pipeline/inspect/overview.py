"""``overview``: how much there is of each stage, how fast it was made, and what was refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pipeline.base.foreign_text import printable
from pipeline.inspect.dataset import Selection, StageFolder
from pipeline.parsing.parse_shard import PARSER_FAULTS
from pipeline.shards.manifests import CLEANED, ENCODER_DIGEST, ShardManifest, manifest_beside

Facts = dict[str, Any]
"""What is known of a stage, as JSON has it; counts of several things are by name."""
MAKERS = {"parser": "parser_checksum", "encoder": ENCODER_DIGEST}
"""What a manifest calls who made its shard, and the checksum of that."""


def stage_facts(selection: Selection) -> Iterator[Facts]:
    """Yields what the manifests say of every stage of a selection; no row is read."""
    for folder in selection.folders:
        numbers = selection.numbers_in(folder)
        manifests = [m for n in numbers if (m := manifest_beside(folder.path, n)) is not None]
        incomplete = [*folder.gaps()]
        if len(numbers) > len(manifests):
            incomplete.insert(0, f"{len(numbers) - len(manifests)} shards have no manifest")
        yield {
            "stage": folder.stage,
            "path": str(folder.path),
            "shards": len(manifests),
            "rows": sum(manifest.rows for manifest in manifests),
            "bytes": sum(manifest.bytes for manifest in manifests),
            "seconds": sum(manifest.seconds for manifest in manifests),
            "incomplete": incomplete,
            "refused": _total(manifest.drops for manifest in manifests),
            "failed": parser_failures(folder, manifests),
            "cleaned": _total(manifest.extra.get(CLEANED, {}) for manifest in manifests),
            "made_by": sorted({maker for m in manifests for maker in _makers(m)}),
        }


def _total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for some in counts:
        total.update(some)
    return dict(total.most_common())


def _makers(manifest: ShardManifest) -> Iterator[str]:
    for name, checksum in MAKERS.items():
        if name in manifest.extra:
            yield f"{manifest.extra[name]} {manifest.extra.get(checksum, '')}"


def parser_failures(folder: StageFolder, manifests: Iterable[ShardManifest]) -> str:
    """Returns how many sentences failed in the parser and where they stand, or nothing."""
    count = sum(m.drops.get(reason, 0) for m in manifests for reason in PARSER_FAULTS)
    if not count:
        return ""
    where = folder.path / "*.quarantine.jsonl"
    return f"{count:,} rows by the parser's own fault; their details stand in {where}"


def overview_lines(selection: Selection) -> Iterator[str]:
    """Yields the same as lines for people."""
    for facts in stage_facts(selection):
        rows, seconds = facts["rows"], facts["seconds"]
        yield f"{facts['stage']}  {printable(facts['path'])}"
        yield _line("rows", f"{rows:,} in {facts['shards']:,} shard{'s' * (facts['shards'] != 1)}")
        yield _line("bytes", f"{facts['bytes']:,} ({facts['bytes'] / max(rows, 1):.1f} a row)")
        rate = rows / max(seconds, 1e-9)
        yield _line("seconds", f"{seconds:,.1f} ({rate:,.0f} sentences/s a process)")
        for gap in facts["incomplete"]:
            yield _line("incomplete", gap)
        yield _line("refused", _counts(facts["refused"]) or "none")
        if facts["failed"]:
            yield _line("failed", facts["failed"])
        if facts["cleaned"]:
            yield _line("cleaned", f"paragraphs changed: {_counts(facts['cleaned'])}")
        for maker in facts["made_by"]:
            yield _line("made by", maker)
        yield ""


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _line(name: str, value: str) -> str:
    return f"  {name:>13}  {printable(value)}"
