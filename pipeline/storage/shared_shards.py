"""The shards of stages in a storage: published whole, fetched verified.

A stage has the same place in every storage as under the work folder, and a shard the same files,
so a storage that is a folder can be read like any other. As on disk, a shard exists when its
manifest does: that file is written last and never replaced.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from treeviews.pipeline.base.atomic_files import json_bytes, locked, write_bytes_atomically
from treeviews.pipeline.base.json_files import sealed
from treeviews.pipeline.shards.manifests import (
    MANIFEST_NAME,
    MOST_RANGES,
    ShardManifest,
    ShardRange,
    is_parsed_from,
    manifest_of,
    manifest_path,
    quarantine_path,
    read_dataset_manifest,
    read_shard_manifest,
    read_verified_manifest,
    shard_path,
    shard_ranges,
    sum_up,
)
from treeviews.pipeline.storage.location import Storage, named_address, portable_address

logger = logging.getLogger(__name__)


class StoredStage:
    """The shards of one stage in a storage.

    Args:
        storage: the stage's folder there.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def numbers(self) -> set[int]:
        """Returns the numbers of the shards that are complete."""
        names = self._storage.names()
        rows = {name.removesuffix(".parquet") for name in names if name.endswith(".parquet")}
        return {int(stem) for stem in rows if f"{stem}.json" in names and stem.isdecimal()}

    def has(self, number: int) -> bool:
        """Returns whether a shard is complete; in a folder, its rows in their size."""
        if self._storage.folder is not None:
            return read_shard_manifest(self._storage.folder, number) is not None
        paths = shard_path(Path(), number), manifest_path(Path(), number)
        return all(self._storage.has(path.name) for path in paths)

    def publish(self, folder: Path, number: int) -> None:
        """Writes a shard of a local folder into the storage.

        Raises:
            FileNotFoundError: the folder's shard is not complete.
            ValueError: it is damaged.
        """
        path = shard_path(folder, number)
        manifest = read_verified_manifest(folder, number)
        if manifest is None:
            raise FileNotFoundError(f"{path}: not complete; run the stage that writes it again")
        paths = [path, manifest_path(folder, number)]
        if manifest.has_quarantine:
            paths.insert(0, quarantine_path(folder, number))
        for path in paths:
            self._storage.write(path.name, path.read_bytes())

    def manifest(self, number: int) -> ShardManifest:
        """Returns the manifest of a shard in the storage.

        Raises:
            FileNotFoundError: it is not there.
            ValueError: it is damaged, or of a schema that this release cannot read.
        """
        name = manifest_path(Path(), number).name
        return manifest_of(ShardManifest, self._named(name), self._storage.read(name))

    def fetch(self, folder: Path, number: int, stage: str, **expected: str) -> ShardManifest:
        """Writes a shard of the storage into a local folder; returns its manifest.

        All is checked before anything is written.

        Args:
            stage: that it must be of.
            expected: what its manifest must say besides: ``sentences_sha256``, of the rows that
                were parsed, and ``parser_checksum``, of the parser's folder.

        Raises:
            FileNotFoundError: it is not in the storage.
            ValueError: what is there is damaged, another shard than expected, or of a schema that
                this release cannot read.
        """
        rows, last = shard_path(folder, number), manifest_path(folder, number)
        remedy = f"delete {rows.name} and {last.name} there and run the stage again"
        manifest = self.manifest(number)
        # A parser's own checksum may also name, after a dash, its arithmetic.
        facts = {name: str(value).partition("-")[0] for name, value in manifest.extra.items()}
        facts |= {"stage": manifest.stage, "number": str(manifest.number)}
        for name, value in {"stage": stage, "number": str(number), **expected}.items():
            if facts.get(name) != value:
                raise ValueError(
                    f"{self._named(rows.name)}: not the shard that is wanted, as its {name} is "
                    f"{facts.get(name)!r} instead of {value!r}; name another storage, or {remedy}"
                )
        sha256 = {rows: manifest.sha256}
        if manifest.has_quarantine:
            sha256[quarantine_path(folder, number)] = manifest.quarantine_sha256
        files = {path: self._storage.read(path.name) for path in sha256}
        for path, wanted in sha256.items():  # an earlier release noted none of records
            if wanted not in ("", hashlib.sha256(files[path]).hexdigest()):
                raise ValueError(
                    f"{self._named(path.name)}: sha256 differs from its manifest's; {remedy}"
                )
        files[last] = self._storage.read(last.name)
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in files.items():
            write_bytes_atomically(path, content)
        return manifest

    def publish_all(self, folder: Path, numbers: Sequence[int]) -> None:
        """Publishes the shards that the storage lacks, then, unless it is there, the manifest.

        The manifest sums up the shards that are there: of some, another machine may have been first
        to publish its own, with the same rows but other seconds.
        """
        stored = self.numbers()
        for number in numbers:
            if number not in stored:
                self.publish(folder, number)
        if self._storage.has(MANIFEST_NAME):
            return
        self._storage.sweep()
        local = read_dataset_manifest(folder)
        shards = [self.manifest(shard.number) for shard in local.shards]
        manifest = sum_up(local.stage, shards, config=local.config, seconds=local.seconds)
        self._storage.write(MANIFEST_NAME, json_bytes(sealed(manifest.to_dict())))

    def _named(self, name: str) -> str:
        return f"{self._storage.name}/{name}"


class SharedShards:
    """The sentences of a corpus and what is made of them, in the work folder and in a storage.

    The storage may be the work folder itself; then there is nothing to copy.

    Args:
        address: folder or URL of the storage.
        work_folder: what the two folders are relative to.
        sentences: folder of the sentence shards.
        made: folder of the shards that are made of them, of the same numbers.
        stage: what these are, such as ``dependencies``.
        parser_checksum: of the parser's folder; parses by another one are refused. Empty where
            shards are no parses.

    Raises:
        ValueError: not an address of a kind that is known.
    """

    def __init__(
        self,
        address: str,
        work_folder: Path,
        *,
        sentences: Path,
        made: Path,
        stage: str,
        parser_checksum: str,
    ) -> None:
        self.address = portable_address(address)
        """The same on all machines."""
        self._work_folder = work_folder
        self._sentences, self._made = sentences, made
        self._stage, self._parser_checksum = stage, parser_checksum
        storage = Storage(self.address)
        self._is_here = storage.folder == work_folder.absolute()
        self._stored_sentences = StoredStage(storage.inside(self.place_of(sentences)))
        self._stored = StoredStage(storage.inside(self.place_of(made)))

    def place_of(self, folder: Path) -> str:
        """Returns where a folder of the work folder is in the storage."""
        return folder.relative_to(self._work_folder).as_posix()

    def begin(self, numbers: Sequence[int], on_wait: Callable[[], None]) -> None:
        """Gives the storage the sentences it lacks, and takes the shards that others have made.

        Args:
            numbers: the shards that the sentences have.
            on_wait: called where another stage of this machine is giving the same sentences.

        Raises:
            ValueError: the storage has other sentences or other shards under the same names.
        """
        self._remove_shards_of_other_sentences(numbers)
        if self._is_here:
            return
        for number in sorted(self._stored_sentences.numbers().intersection(numbers)):
            if self._stored_sentences.manifest(number).sha256 != self._sentences_sha256(number):
                raise ValueError(
                    f"{shard_path(self._sentences, number)}: the storage "
                    f"{named_address(self.address)} has other sentences under this name, such as "
                    "of another release; name another storage, or delete "
                    f"{self.place_of(self._sentences)} and {self.place_of(self._made)} there"
                )
        with locked(self._made.parent / "publishing.lock", on_wait):
            self._stored_sentences.publish_all(self._sentences, numbers)
        for number in sorted(self._stored.numbers().intersection(numbers)):
            self.fetch(number)

    def _remove_shards_of_other_sentences(self, numbers: Sequence[int]) -> None:
        """Removes the shards here of sentences that were made anew since, in other bytes."""
        for number in numbers:
            parsed = read_shard_manifest(self._made, number)
            source = read_shard_manifest(self._sentences, number)
            if parsed is not None and source is not None and not is_parsed_from(parsed, source):
                rows = shard_path(self._made, number)
                logger.warning("%s: its sentences were made anew; it is made again", rows)
                for name in (MANIFEST_NAME, manifest_path(self._made, number).name, rows.name):
                    (self._made / name).unlink(missing_ok=True)

    def fetch(self, number: int) -> None:
        """Takes one shard that another machine has made, unless it is here.

        Raises:
            ValueError: it is damaged, or was made from other sentences or by another parser.
        """
        if read_shard_manifest(self._made, number) is None:
            expected = {"sentences_sha256": self._sentences_sha256(number)}
            if self._parser_checksum:
                expected["parser_checksum"] = self._parser_checksum
            self._stored.fetch(self._made, number, self._stage, **expected)

    def finish(self, numbers: Sequence[int]) -> None:
        """Gives the storage the shards that it lacks; the stage is complete there, too."""
        self._stored.publish_all(self._made, numbers)

    def missing_ranges(self, numbers: Sequence[int], most: int = MOST_RANGES) -> list[ShardRange]:
        """Returns the ranges, at most so many, in which a shard is not complete here."""
        return [
            shards
            for shards in shard_ranges(len(numbers), most)
            if any(
                read_shard_manifest(self._made, number) is None
                for number in range(shards.number, shards.number + shards.num_shards)
            )
        ]

    def _sentences_sha256(self, number: int) -> str:
        manifest = read_shard_manifest(self._sentences, number)
        if manifest is None:
            raise FileNotFoundError(
                f"{shard_path(self._sentences, number)}: not complete; run the stage again"
            )
        return manifest.sha256
