"""What a stage that is made from sentences shares with other machines."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from treeviews.pipeline.base.atomic_files import locked
from treeviews.pipeline.shards.manifests import (
    MANIFEST_NAME,
    MOST_RANGES,
    ShardRange,
    is_parsed_from,
    manifest_path,
    read_shard_manifest,
    shard_path,
    shard_ranges,
)
from treeviews.pipeline.storage.location import Storage, named_address, portable_address
from treeviews.pipeline.storage.stage import ShardOrigin, StoredStage

logger = logging.getLogger(__name__)


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
        for number in sorted(self._stored_sentences.numbers().intersection(numbers)):
            here = self._sentences_sha256(number)
            there = self._stored_sentences.manifest(number).sha256
            if here != there:
                raise ValueError(self._other_sentences(number, here, there))
        self._remove_shards_of_other_sentences(numbers)
        if not self._stored_sentences.is_complete():
            with locked(self._made.parent / "publishing.lock", on_wait):
                self._stored_sentences.publish_missing(self._sentences, numbers)
                self._stored_sentences.publish_dataset_manifest(self._sentences)
        if self._is_here:
            return
        for number in sorted(self._stored.numbers().intersection(numbers)):
            self.fetch(number)

    def _other_sentences(self, number: int, here: str, there: str) -> str:
        """Returns what to say of a shard of sentences that the storage has in other bytes."""
        sentences, made = self.place_of(self._sentences), self.place_of(self._made)
        return (
            f"{shard_path(self._sentences, number)} has sha256 {here}, the shard of the same name "
            f"in the storage {named_address(self.address)} {there}, such as from another release "
            "of treeviews or pyarrow: what is made of one does not fit the other; to go on with "
            f"the storage's, delete {self._sentences} and copy {sentences} from there; to go "
            "on with those here, name another storage, or delete "
            f"{sentences} and {made} there"
        )

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
            expected = ShardOrigin(
                stage=self._stage,
                number=number,
                sentences_sha256=self._sentences_sha256(number),
                parser_checksum=self._parser_checksum,
            )
            self._stored.fetch(self._made, expected)

    def finish(self, numbers: Sequence[int]) -> None:
        """Gives the storage the shards that it lacks; the stage is complete there, too."""
        self._stored.publish_missing(self._made, numbers)
        self._stored.publish_dataset_manifest(self._made)

    def missing_ranges(self, numbers: Sequence[int], most: int = MOST_RANGES) -> list[ShardRange]:
        """Returns the ranges, at most so many, in which a shard is not complete here."""
        return [
            found
            for found in shard_ranges(len(numbers), most)
            if any(
                read_shard_manifest(self._made, number) is None
                for number in range(found.number, found.number + found.num_shards)
            )
        ]

    def _sentences_sha256(self, number: int) -> str:
        manifest = read_shard_manifest(self._sentences, number)
        if manifest is None:
            raise FileNotFoundError(
                f"{shard_path(self._sentences, number)}: not complete; run the stage again"
            )
        return manifest.sha256


def fetch_sentences(storage: str, place: str, folder: Path, numbers: range) -> None:
    """Takes the sentence shards of a storage that a local folder lacks, of those it has."""
    stored = StoredStage(Storage(storage).inside(place))
    for number in sorted(stored.numbers().intersection(numbers)):
        if read_shard_manifest(folder, number) is None:
            stored.fetch(folder, ShardOrigin(stage="sentences", number=number))
