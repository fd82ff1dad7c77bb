"""What makes a stage's manifests right: they agree with one another and with the files' names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.inspect.dataset import StageFolder
from pipeline.manifests import MANIFEST_NAME, DatasetManifest, ShardManifest, read_shard_manifest

RERUN = f"delete {MANIFEST_NAME} and run the stage again"
CONTENT_FACTS = ("sha256", "rows", "drops", "quarantine_sha256")
ORIGIN_FACTS = ("parser_checksum", "sentences_sha256")
"""What two manifests of one shard must agree in: of its content, and of where it comes from."""


def stage_problems(folder: StageFolder, manifest: DatasetManifest) -> Iterator[str]:
    """Yields what is wrong with the manifest of a complete stage."""
    unlisted = set(folder.numbers()).difference(shard.number for shard in manifest.shards)
    if unlisted:
        yield f"has shards {sorted(unlisted)}, its manifest does not"
    if manifest.rows != sum(shard.rows for shard in manifest.shards):
        yield f"manifest says {manifest.rows} rows, its shards have another sum; {RERUN}"
    for listed in manifest.shards:
        try:
            own = read_shard_manifest(folder.path, listed.number)
        except ValueError:
            continue  # named where the shard is read
        differing = [] if own is None else _differing(own, listed)
        if differing:
            yield (
                f"{MANIFEST_NAME} lists another shard {listed.number} than its own manifest "
                f"describes ({', '.join(differing)} differ); {RERUN}"
            )
    yield from parser_problems(manifest.shards)


def shard_problems(folder: StageFolder, number: int, manifest: ShardManifest) -> Iterator[str]:
    """Yields where a shard's manifest is that of another shard or stage."""
    if manifest.number != number:
        yield f"its manifest is of shard {manifest.number}: files were renamed; parse it again"
    if manifest.stage != folder.stage:
        yield f"its manifest is of stage {manifest.stage!r}, not {folder.stage!r}"


def _differing(own: ShardManifest, listed: ShardManifest) -> list[str]:
    """Returns the facts of the content in which two manifests of a shard differ.

    Not how long it took: the same rows may have been made twice, on two machines.
    """
    content = [name for name in CONTENT_FACTS if getattr(own, name) != getattr(listed, name)]
    origin = [name for name in ORIGIN_FACTS if own.extra.get(name) != listed.extra.get(name)]
    return content + origin


def parser_problems(shards: Sequence[ShardManifest]) -> Iterator[str]:
    """Yields where shards of one stage are by several parsers."""
    numbers: dict[str, list[int]] = {}
    for shard in shards:
        if "parser_checksum" in shard.extra:
            numbers.setdefault(str(shard.extra["parser_checksum"]), []).append(shard.number)
    if len(numbers) > 1:
        by_parser = "; ".join(f"{_short(checksum)}: {of}" for checksum, of in numbers.items())
        yield f"has shards by several parsers ({by_parser}); parse all of them with one"


def _short(checksum: str) -> str:
    """Returns the beginning of a parser's checksum, with the arithmetic that it may end in."""
    digest, mark, arithmetic = checksum.partition("-")
    return f"{digest[:12]}{mark}{arithmetic}"
