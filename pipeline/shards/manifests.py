"""Manifests of shards and of stages: what stands complete, from what, with which content.

A stage's folder holds ``00000.parquet`` (the rows), ``00000.quarantine.jsonl`` (what was refused
and why) and ``00000.json`` (the manifest, written last: a shard without it does not exist). When
all shards stand, ``manifest.json`` sums them up and marks the whole stage complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from treeviews.pipeline.base.atomic_files import TEMPORARY_SUFFIX
from treeviews.pipeline.base.digest import remembered_sha256, sha256_of_file
from treeviews.pipeline.base.json_files import unsealed, write_sealed_json
from treeviews.pipeline.base.mistakes import DamagedError
from treeviews.pipeline.base.settings import Settings
from treeviews.pipeline.shards.schema import SCHEMA_VERSION

MANIFEST_NAME = "manifest.json"
SHARD_GLOB = "[0-9]" * 5 + ".parquet"
CLEANED = "cleaned"
"""Key of a shard's extra facts, and of the config of the stage that splits text: how many of its
paragraphs were changed by cleaning, by what was done; absent where none was."""
PARSED_FROM = "sentences_sha256"
"""Key of a parsed shard's extra facts: sha256 of the rows of sentences that were parsed. Of an
embedded shard, of those that were embedded."""
ENCODER_DIGEST = "encoder_digest"
"""Key of an embedded shard's extra facts: digest of everything that determines its vectors but the
sentences and their parses."""
WIDTH, DTYPE = "width", "dtype"
"""Keys of an embedded shard's extra facts: numbers of a vector, and their type."""
MOST_RANGES = 1024
"""Jobs that the shards of a stage are given to at most by Luigi, which bears no more."""
LEAST_RANGES, JOBS_PER_CORE = 256, 4
"""Jobs that a cluster is given where there are as many shards: enough that little waits for the
last ones to end, and few enough that starting them is no matter."""
ManifestT = TypeVar("ManifestT", bound=Settings)


class ShardRange(NamedTuple):
    """Shards that one job makes: that of a number and those that follow it."""

    number: int
    num_shards: int = 1

    @property
    def numbers(self) -> range:
        """Of all of them."""
        return range(self.number, self.number + self.num_shards)


def most_jobs(num_cores: int) -> int:
    """Returns how many jobs a cluster of so many cores is given at most, of a stage."""
    return max(LEAST_RANGES, JOBS_PER_CORE * num_cores)


def shard_ranges(num_shards: int, most: int = MOST_RANGES) -> list[ShardRange]:
    """Returns the ranges that jobs make, at most so many; of one shard each where that is few."""
    size = -(-num_shards // most) or 1
    return [
        ShardRange(number, min(size, num_shards - number)) for number in range(0, num_shards, size)
    ]


class ShardManifest(Settings):
    """What is known of one complete shard."""

    called: ClassVar[str] = "manifest field"

    stage: str
    schema_version: int
    number: int
    rows: int
    bytes: int
    sha256: str
    drops: Mapping[str, int] = {}
    """Number of sentences refused, by reason."""
    seconds: float = 0.0
    extra: Mapping[str, Any] = {}
    has_quarantine: bool = True
    """Whether every drop has a record beside the shard; not so where rows were merely selected."""
    quarantine_sha256: str = ""
    """Of the file with these records; empty where there is none, or an earlier release wrote it."""


class DatasetManifest(Settings):
    """What is known of one complete stage: its configuration and all its shards."""

    called: ClassVar[str] = "manifest field"

    stage: str
    schema_version: int
    config: Mapping[str, Any]
    shards: tuple[ShardManifest, ...]
    rows: int
    drops: Mapping[str, int]
    seconds: float
    file_sha256: Mapping[str, str] = {}
    """Of what else stands in the folder and is read, by name; see `check_file`."""


def shard_path(folder: Path, number: int) -> Path:
    """Returns the path of a shard's Parquet file."""
    return folder / f"{number:05d}.parquet"


def shard_numbers(folder: Path) -> list[int]:
    """Returns the numbers of the shards whose rows are there, complete or not, in order."""
    return sorted(int(path.stem) for path in folder.glob(SHARD_GLOB))


def manifest_path(folder: Path, number: int) -> Path:
    """Returns the path of a shard's manifest."""
    return folder / f"{number:05d}.json"


def quarantine_path(folder: Path, number: int) -> Path:
    """Returns the path of the JSON lines that say what a shard refused and why."""
    return folder / f"{number:05d}.quarantine.jsonl"


def remedy(path: Path) -> str:
    """Returns what to do about a shard that is damaged: every file that says it is complete."""
    return (
        f"delete {path.name}, {path.with_suffix('.json').name} and {MANIFEST_NAME} in "
        f"{path.parent} and run the stage again"
    )


def manifest_of(kind: type[ManifestT], source: str, content: bytes) -> ManifestT:
    """Returns a manifest of this release's version, of a shard or of a stage, from its bytes.

    Args:
        source: path or URL of the file, for the errors.

    Raises:
        ValueError: the file is damaged, or of another version; names it and the remedy.
    """
    try:
        value = unsealed(content)
        version = value["schema_version"]
        if version == SCHEMA_VERSION:
            return kind.from_dict(value)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        files = "it" if source.endswith(MANIFEST_NAME) else f"it and {MANIFEST_NAME} beside it"
        raise DamagedError(
            f"{source}: not readable as a manifest ({type(error).__name__}: {error}); delete "
            f"{files} and run the stage again"
        ) from error
    raise ValueError(
        f"{source}: schema version {version}, this release reads {SCHEMA_VERSION}; delete the "
        "stage's folder and run the stage again, or install the release that wrote it"
    )


def read_shard_manifest(folder: Path, number: int) -> ShardManifest | None:
    """Returns the manifest of a shard, or None where the shard is not complete.

    That is so where the rows or the manifest are gone, or the rows have not the manifest's size.

    Raises:
        ValueError: the manifest is damaged, of another version or of another shard; names it and
            the remedy.
    """
    manifest = manifest_beside(folder, number)
    if manifest is None or manifest.bytes != shard_path(folder, number).stat().st_size:
        return None
    return manifest


def manifest_beside(folder: Path, number: int) -> ShardManifest | None:
    """Returns the manifest of a shard whose rows are there, whatever they are.

    Raises:
        ValueError: see `read_shard_manifest`.
    """
    path, rows = manifest_path(folder, number), shard_path(folder, number)
    if not path.exists() or not rows.exists():
        return None
    manifest = manifest_of(ShardManifest, str(path), path.read_bytes())
    if manifest.number != number:
        raise DamagedError(f"{path}: of shard {manifest.number}: files renamed; {remedy(rows)}")
    return manifest


def read_verified_manifest(folder: Path, number: int) -> ShardManifest | None:
    """Returns the manifest of a shard whose bytes are what it says; None where one is missing.

    Raises:
        ValueError: the rows are damaged, or the manifest is, see `read_shard_manifest`; names the
            file and the remedy.
    """
    manifest = manifest_beside(folder, number)
    if manifest is not None:
        check_rows(shard_path(folder, number), manifest.sha256)
    return manifest


def check_rows(path: Path, sha256: str) -> None:
    """Refuses a shard's file whose bytes are not those that a manifest describes.

    The file is read once a process for as long as its size and time stay.

    Raises:
        FileNotFoundError: no such shard.
        ValueError: its sha256 is another; names it and the remedy.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such shard; run the stage that writes it")
    if remembered_sha256(path) != sha256:
        raise DamagedError(f"{path}: sha256 differs from its manifest's; {remedy(path)}")


def check_parsed_from(folder: Path, parses: DatasetManifest, sentences: DatasetManifest) -> None:
    """Refuses a stage of which a shard was parsed from other sentences than those it is read with.

    Args:
        folder: of the parses.

    Raises:
        ValueError: names the first such shard and the remedy.
    """
    for parsed, source in zip(parses.shards, sentences.shards, strict=False):
        if not is_parsed_from(parsed, source):
            path = shard_path(folder, parsed.number)
            raise ValueError(
                f"{path}: these are parses of another text, not of the sentences that they are "
                f"read with; {remedy(path)}"
            )


def is_parsed_from(parsed: ShardManifest, source: ShardManifest) -> bool:
    """Returns whether a shard was parsed from these sentences; an earlier release does not say."""
    return bool(parsed.extra.get(PARSED_FROM, source.sha256) == source.sha256)


def check_identity(folder: Path, standing: ShardManifest, identity: Mapping[str, Any]) -> None:
    """Refuses a shard that stands where another one is to be.

    Args:
        identity: what its extra facts must say.

    Raises:
        ValueError: they say otherwise; names the first.
    """
    for key, value in identity.items():
        if standing.extra.get(key) != value:
            raise ValueError(
                f"{folder}: shard {standing.number} stands with {key} "
                f"{standing.extra.get(key)!r}, not {value!r}; delete the folder or choose another "
                "one"
            )


def stands_whole(folder: Path, parsed_from: Path | None = None) -> bool:
    """Returns whether all that a stage's manifest lists is there, in its size; no rows are read.

    Asked once a process for as long as the size and time of every file stay.

    Args:
        parsed_from: folder of the sentences that the stage is to be parsed from; while these are
            not complete they are not compared.

    Raises:
        ValueError: a manifest is damaged, or of another version; names it and the remedy.
    """
    if not (folder / MANIFEST_NAME).exists():
        return False
    paths = [path for path in folder.iterdir() if path.suffix not in {".lock", TEMPORARY_SUFFIX}]
    if parsed_from is not None:
        paths += parsed_from.glob(MANIFEST_NAME)
    stats = ((path, path.stat()) for path in paths)
    # What is written in place of a file within one tick of the clock has another inode.
    stamps = frozenset((path, s.st_size, s.st_mtime_ns, s.st_ino) for path, s in stats)
    return _stands_whole(folder, parsed_from, stamps)


@lru_cache(maxsize=256)
def _stands_whole(folder: Path, parsed_from: Path | None, stamps: frozenset[object]) -> bool:
    manifest = read_dataset_manifest(folder)
    whole = all(
        (own := read_shard_manifest(folder, shard.number)) and own.sha256 == shard.sha256
        for shard in manifest.shards
    ) and all((folder / name).is_file() for name in manifest.file_sha256)
    if whole and parsed_from is not None and (parsed_from / MANIFEST_NAME).exists():
        sources = read_dataset_manifest(parsed_from).shards
        whole = all(map(is_parsed_from, manifest.shards, sources))
    return whole


def complete_shards(folder: Path) -> list[ShardManifest]:
    """Returns the manifests of the shards 0, 1, … up to the first that is not complete."""
    found: list[ShardManifest] = []
    while (manifest := read_shard_manifest(folder, len(found))) is not None:
        found.append(manifest)
    return found


def write_dataset_manifest(
    folder: Path,
    stage: str,
    *,
    config: Mapping[str, Any],
    num_shards: int | None = None,
    seconds: float | None = None,
    files: Sequence[Path] = (),
) -> DatasetManifest:
    """Marks a stage complete: sums its shards up and writes ``manifest.json``.

    Args:
        config: the resolved configuration that determined the content.
        num_shards: how many shards the stage has; by default up to the last one in the folder.
        seconds: the stage's own time; by default the sum over its shards.
        files: further files of the folder that are read, whole.

    Raises:
        FileNotFoundError: a shard is missing or not complete; names their numbers.
    """
    if num_shards is None:
        num_shards = max((number + 1 for number in shard_numbers(folder)), default=0)
    found = [read_shard_manifest(folder, number) for number in range(num_shards)]
    shards = [shard for shard in found if shard is not None]
    if len(shards) < num_shards:
        missing = [str(number) for number, shard in enumerate(found) if shard is None]
        raise FileNotFoundError(
            f"{folder}: shards {', '.join(missing)} of {num_shards} are missing or not complete; "
            "run the stage again"
        )
    checksums = {file.name: sha256_of_file(file) for file in files}
    manifest = sum_up(stage, shards, config=config, seconds=seconds).changed(file_sha256=checksums)
    write_sealed_json(folder / MANIFEST_NAME, manifest.to_dict())
    return manifest


def sum_up(
    stage: str,
    shards: Sequence[ShardManifest],
    *,
    config: Mapping[str, Any],
    seconds: float | None = None,
) -> DatasetManifest:
    """Returns the manifest of a stage that has these shards; see `write_dataset_manifest`."""
    drops: Counter[str] = Counter()
    for shard in shards:
        drops.update(shard.drops)
    return DatasetManifest(
        stage=stage,
        schema_version=SCHEMA_VERSION,
        config=dict(config),
        shards=tuple(shards),
        rows=sum(shard.rows for shard in shards),
        drops=dict(sorted(drops.items())),
        seconds=round(sum(s.seconds for s in shards) if seconds is None else seconds, 3),
    )


def read_dataset_manifest(folder: Path, stage: str | None = None) -> DatasetManifest:
    """Returns the manifest of a complete stage.

    Raises:
        FileNotFoundError: the stage is not complete.
        ValueError: the folder holds another stage.
    """
    path = folder / MANIFEST_NAME
    if not path.exists():
        raise FileNotFoundError(
            f"{folder}: no {MANIFEST_NAME}, so this stage is not complete; run it again"
        )
    manifest = manifest_of(DatasetManifest, str(path), path.read_bytes())
    if stage is not None and manifest.stage != stage:
        raise ValueError(f"{folder}: holds {manifest.stage!r}, expected {stage!r}")
    return manifest


def parser_problems(shards: Iterable[ShardManifest]) -> Iterator[str]:
    """Yields where shards of one stage are by several parsers, or in several arithmetics.

    Shards of embeddings have an encoder in the place of the parser, and are of one width and type.
    """
    known = list(shards)
    for key, what in (
        ("parser_checksum", "by several parsers"),
        (ENCODER_DIGEST, "by several encoders"),
        (WIDTH, "of several widths"),
        (DTYPE, "of several types"),
    ):
        numbers: dict[str, list[int]] = {}
        for shard in known:
            if key in shard.extra:
                # The beginning of a maker's checksum, with the arithmetic that it may end in.
                digest, mark, arithmetic = str(shard.extra[key]).partition("-")
                maker = f"{digest[:12]}{mark}{arithmetic}"
                numbers.setdefault(maker, []).append(shard.number)
        if len(numbers) > 1:
            by_maker = "; ".join(f"{maker}: {of}" for maker, of in numbers.items())
            yield f"has shards {what} ({by_maker}); make all of them with one and the same"
