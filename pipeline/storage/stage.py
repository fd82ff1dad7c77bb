"""One stage's shards in a storage: published whole, fetched verified.

A stage has the same place in every storage as under the work folder, and a shard the same files,
so a storage that is a folder can be read like any other. As on disk, a shard exists when its
manifest does: that file is written last and never replaced.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pipeline.atomic_files import json_bytes, write_bytes_atomically
from pipeline.digest import sha256_of_file
from pipeline.manifests import (
    MANIFEST_NAME,
    ShardManifest,
    dataset_manifest_of,
    quarantine_path,
    read_dataset_manifest,
    read_shard_manifest,
    remedy,
    shard_manifest_of,
    shard_path,
    sum_up,
)
from pipeline.storage.location import Storage
from pipeline.storage.origin import ShardOrigin


class StoredStage:
    """The shards of one stage in a storage.

    Args:
        place: the stage's folder, relative to the storage.
    """

    def __init__(self, storage: Storage, place: str) -> None:
        self._storage, self._place = storage, place

    def numbers(self) -> set[int]:
        """Returns the numbers of the shards that are complete."""
        names = self._storage.names(self._place)
        rows = {name.removesuffix(".parquet") for name in names if name.endswith(".parquet")}
        return {int(stem) for stem in rows if f"{stem}.json" in names and stem.isdecimal()}

    def has(self, number: int) -> bool:
        """Returns whether a shard is complete."""
        rows = shard_path(Path(self._place), number)
        return self._storage.has(rows.as_posix(), rows.with_suffix(".json").as_posix())

    def is_complete(self) -> bool:
        """Returns whether all shards of the stage are there."""
        return self._storage.has(f"{self._place}/{MANIFEST_NAME}")

    def publish(self, folder: Path, number: int) -> None:
        """Writes a shard of a local folder into the storage.

        Raises:
            FileNotFoundError: the folder's shard is not complete.
            ValueError: it is damaged.
        """
        manifest = read_shard_manifest(folder, number)
        path = shard_path(folder, number)
        if manifest is None:
            raise FileNotFoundError(f"{path}: not complete; run the stage that writes it again")
        if sha256_of_file(path) != manifest.sha256:
            raise ValueError(f"{path}: sha256 differs from its manifest's; {remedy(path)}")
        paths = [path, path.with_suffix(".json")]
        if manifest.has_quarantine:
            paths.insert(0, quarantine_path(folder, number))
        for path in paths:
            self._storage.write(f"{self._place}/{path.name}", path.read_bytes())

    def manifest(self, number: int) -> ShardManifest:
        """Returns the manifest of a shard in the storage.

        Raises:
            FileNotFoundError: it is not there.
            ValueError: it is damaged, or of a schema that this release cannot read.
        """
        return self._manifest_and_bytes(number)[0]

    def fetch(self, folder: Path, expected: ShardOrigin) -> ShardManifest:
        """Writes a shard of the storage into a local folder; returns its manifest.

        All is checked before anything is written.

        Raises:
            FileNotFoundError: it is not in the storage.
            ValueError: what is there is damaged, another shard than expected, or of a schema that
                this release cannot read.
        """
        number = expected.number
        manifest, written = self._manifest_and_bytes(number)
        rows = shard_path(folder, number)
        delete = f"delete {rows.name} and {rows.stem}.json there and run the stage again"
        if differences := expected.differences(manifest):
            raise ValueError(
                f"{self._named(rows.name)}: not the shard that is wanted, as its "
                f"{', '.join(differences)}; name another storage, or {delete}"
            )
        content = self._read(rows.name)
        if hashlib.sha256(content).hexdigest() != manifest.sha256:
            raise ValueError(
                f"{self._named(rows.name)}: sha256 differs from its manifest's; {delete}"
            )
        files = {rows: content}
        if manifest.has_quarantine:
            quarantine = quarantine_path(folder, number)
            files[quarantine] = self._read(quarantine.name)
        files[rows.with_suffix(".json")] = written
        folder.mkdir(parents=True, exist_ok=True)
        for path, file_content in files.items():
            write_bytes_atomically(path, file_content)
        return manifest

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
        self._storage.sweep(self._place)
        local = read_dataset_manifest(folder)
        stored = [self.manifest(shard.number) for shard in local.shards]
        manifest = sum_up(local.stage, stored, config=local.config, seconds=local.seconds)
        self._storage.write(f"{self._place}/{MANIFEST_NAME}", json_bytes(asdict(manifest)))

    def fetch_dataset(self, folder: Path) -> int:
        """Copies the whole stage into a local folder, going on where a copy broke off.

        Returns:
            The number of its shards.

        Raises:
            FileNotFoundError: the stage is not complete in the storage.
            ValueError: a shard there is damaged, or the folder holds shards of another dataset.
        """
        written = self._read(MANIFEST_NAME)
        manifest = dataset_manifest_of(self._named(MANIFEST_NAME), written)
        origins = [
            ShardOrigin(stage=manifest.stage, number=shard.number, sha256=shard.sha256)
            for shard in manifest.shards
        ]
        missing = [origin for origin in origins if not self._stands(folder, origin)]
        copied = folder / MANIFEST_NAME
        if copied.exists() and copied.read_bytes() != written:
            raise ValueError(
                f"{copied}: not the {MANIFEST_NAME} of {self._named('')}; give another folder"
            )
        for origin in missing:
            self.fetch(folder, origin)
        write_bytes_atomically(copied, written)
        return len(origins)

    def _stands(self, folder: Path, origin: ShardOrigin) -> bool:
        """Returns whether a local folder has this shard.

        Raises:
            ValueError: it has another one of this number; names what differs.
        """
        manifest = read_shard_manifest(folder, origin.number)
        if manifest is None:
            return False
        if differences := origin.differences(manifest):
            raise ValueError(
                f"{shard_path(folder, origin.number)}: not the shard of {self._named('')}, as its "
                f"{', '.join(differences)}; give another folder"
            )
        return True

    def _manifest_and_bytes(self, number: int) -> tuple[ShardManifest, bytes]:
        name = shard_path(Path(), number).with_suffix(".json").name
        written = self._read(name)
        return shard_manifest_of(self._named(name), written), written

    def _read(self, name: str) -> bytes:
        return self._storage.read(f"{self._place}/{name}")

    def _named(self, name: str) -> str:
        return f"{self._storage.name}/{self._place}/{name}"
