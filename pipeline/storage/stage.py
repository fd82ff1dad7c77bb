"""One stage's shards in a storage: published whole, fetched verified.

A stage has the same place in every storage as under the work folder, and a shard the same files,
so a storage that is a folder can be read like any other. As on disk, a shard exists when its
manifest does: that file is written last and never replaced.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from treeviews.pipeline.base.atomic_files import json_bytes, write_bytes_atomically
from treeviews.pipeline.base.json_files import sealed
from treeviews.pipeline.shards.manifests import (
    MANIFEST_NAME,
    ShardManifest,
    manifest_of,
    manifest_path,
    quarantine_path,
    read_dataset_manifest,
    read_shard_manifest,
    read_verified_manifest,
    shard_path,
    sum_up,
)
from treeviews.pipeline.storage.location import Storage


@dataclass(frozen=True, slots=True)
class ShardOrigin:
    """What the manifest of the shard that is wanted says; an empty field is not compared."""

    stage: str
    """The stage that the shard belongs to."""
    number: int
    """Its number there."""
    sha256: str = ""
    """Of its rows."""
    sentences_sha256: str = ""
    """Of the rows of the sentence shard that was parsed."""
    parser_checksum: str = ""
    """Of the parser's folder. A parser's own may also name, after a dash, its arithmetic."""

    def differences(self, manifest: ShardManifest) -> list[str]:
        """Returns what a manifest says otherwise, in words; nothing for the right shard."""
        parser = str(manifest.extra.get("parser_checksum", ""))
        said = {
            "stage": manifest.stage,
            "number": manifest.number,
            "sha256": manifest.sha256,
            "sentences_sha256": manifest.extra.get("sentences_sha256"),
            "parser_checksum": parser.partition("-")[0],
        }
        return [
            f"{name} is {value!r} instead of {getattr(self, name)!r}"
            for name, value in said.items()
            if getattr(self, name) not in ("", value)
        ]


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
        paths = (shard_path(Path(), number), manifest_path(Path(), number))
        return self._storage.has(*(path.name for path in paths))

    def is_complete(self) -> bool:
        """Returns whether all shards of the stage are there."""
        return self._storage.has(MANIFEST_NAME)

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
        paths = [path, path.with_suffix(".json")]
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

    def fetch(self, folder: Path, expected: ShardOrigin) -> ShardManifest:
        """Writes a shard of the storage into a local folder; returns its manifest.

        All is checked before anything is written.

        Raises:
            FileNotFoundError: it is not in the storage.
            ValueError: what is there is damaged, another shard than expected, or of a schema that
                this release cannot read.
        """
        number = expected.number
        rows, last = shard_path(folder, number), manifest_path(folder, number)
        written, manifest = self._wanted(expected)
        expected_sha256 = {rows: manifest.sha256}
        if manifest.has_quarantine:
            expected_sha256[quarantine_path(folder, number)] = manifest.quarantine_sha256
        files = {path: self._storage.read(path.name) for path in expected_sha256}
        for path, sha256 in expected_sha256.items():  # an earlier release noted none of records
            if sha256 not in ("", hashlib.sha256(files[path]).hexdigest()):
                raise ValueError(
                    f"{self._named(path.name)}: sha256 differs from its manifest's; "
                    f"{_delete(number)}"
                )
        files[last] = written
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in files.items():
            write_bytes_atomically(path, content)
        return manifest

    def lend(self, folder: Path, expected: ShardOrigin) -> None:
        """Makes rows and manifest of a shard readable in a local folder, where they are wanted.

        From a folder nothing is copied: links lead there, and who reads the rows verifies them.

        Raises:
            FileNotFoundError, ValueError: see `fetch`.
        """
        stored = self._storage.folder
        if stored is None:
            self.fetch(folder, expected)
            return
        self._wanted(expected)
        folder.mkdir(parents=True, exist_ok=True)
        for path in (shard_path(folder, expected.number), manifest_path(folder, expected.number)):
            path.symlink_to(stored / path.name)

    def _wanted(self, expected: ShardOrigin) -> tuple[bytes, ShardManifest]:
        """Returns a manifest in the storage, and its bytes, if it is of the shard that is wanted.

        Raises:
            FileNotFoundError: it is not there.
            ValueError: it is of another shard, damaged, or of a schema that is not known.
        """
        name = manifest_path(Path(), expected.number).name
        written = self._storage.read(name)
        manifest = manifest_of(ShardManifest, self._named(name), written)
        if differences := expected.differences(manifest):
            rows = shard_path(Path(), expected.number).name
            raise ValueError(
                f"{self._named(rows)}: not the shard that is wanted, as its "
                f"{', '.join(differences)}; name another storage, or {_delete(expected.number)}"
            )
        return written, manifest

    def publish_missing(self, folder: Path, numbers: Sequence[int]) -> None:
        """Publishes the shards that the storage lacks; see `publish`."""
        stored = self.numbers()
        for number in numbers:
            if number not in stored:
                self.publish(folder, number)

    def publish_dataset_manifest(self, folder: Path) -> None:
        """Marks the stage complete in the storage, too, unless it is, and sweeps it.

        The manifest there sums up the shards that are there: of some, another machine may have
        been first to publish its own, with the same rows but other seconds.
        """
        if self.is_complete():
            return
        self._storage.sweep()
        local = read_dataset_manifest(folder)
        stored = [self.manifest(shard.number) for shard in local.shards]
        manifest = sum_up(local.stage, stored, config=local.config, seconds=local.seconds)
        self._storage.write(MANIFEST_NAME, json_bytes(sealed(manifest.to_dict())))

    def _named(self, name: str) -> str:
        return f"{self._storage.name}/{name}"


def _delete(number: int) -> str:
    rows, manifest = shard_path(Path(), number).name, manifest_path(Path(), number).name
    return f"delete {rows} and {manifest} there and run the stage again"
