"""What a stage that parses shares with other machines: its sentences and its own shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pipeline.base.lock import locked
from pipeline.shards.manifests import read_shard_manifest, shard_path
from pipeline.storage.location import Storage, named_address, portable_address
from pipeline.storage.shard_job import StoredShardJob
from pipeline.storage.stage import ShardOrigin, StoredStage


class SharedParses:
    """The sentences and parses of one stage, in the work folder and in a storage.

    The storage may be the work folder itself; then there is nothing to copy.

    Args:
        address: folder or URL of the storage.
        work_folder: what the two folders are relative to.
        sentences: folder of the sentence shards.
        parses: folder of the parsed shards.
        stage: ``dependencies`` or ``constituents``.
        parser_checksum: of the parser's folder; parses by another one are refused.

    Raises:
        ValueError: not an address of a kind that is known.
    """

    def __init__(
        self,
        address: str,
        work_folder: Path,
        *,
        sentences: Path,
        parses: Path,
        stage: str,
        parser_checksum: str,
    ) -> None:
        self._address = portable_address(address)
        self._sentences, self._parses = sentences, parses
        self._stage, self._parser_checksum = stage, parser_checksum
        self._sentences_place = sentences.relative_to(work_folder).as_posix()
        self._parses_place = parses.relative_to(work_folder).as_posix()
        storage = Storage(self._address)
        self._stored_sentences = StoredStage(storage.inside(self._sentences_place))
        self._stored_parses = StoredStage(storage.inside(self._parses_place))

    def begin(self, numbers: Sequence[int], on_wait: Callable[[], None]) -> None:
        """Gives the storage the sentences it lacks, and takes the parses that others have made.

        Args:
            numbers: the shards that the sentences have.
            on_wait: called where another stage of this machine is giving the same sentences.

        Raises:
            ValueError: the storage has other sentences or other parses under the same names.
        """
        for number in sorted(self._stored_sentences.numbers().intersection(numbers)):
            here = self._sentences_sha256(number)
            there = self._stored_sentences.manifest(number).sha256
            if here != there:
                raise ValueError(
                    f"{shard_path(self._sentences, number)} has sha256 {here}, the shard of the "
                    f"same name in the storage {named_address(self._address)} {there}: parses of "
                    "one are none of the other; name another storage, or copy its sentences to here"
                )
        if not self._stored_sentences.is_complete():
            with locked(self._parses.parent / "publishing.lock", on_wait):
                self._stored_sentences.publish_missing(self._sentences, numbers)
                self._stored_sentences.publish_dataset_manifest(self._sentences)
        for number in sorted(self._stored_parses.numbers().intersection(numbers)):
            self.fetch(number)

    def fetch(self, number: int) -> None:
        """Takes one shard that another machine has made, unless it is here.

        Raises:
            ValueError: it is damaged, or was parsed from other sentences or by another parser.
        """
        if read_shard_manifest(self._parses, number) is None:
            expected = ShardOrigin(
                stage=self._stage,
                number=number,
                sentences_sha256=self._sentences_sha256(number),
                parser_checksum=self._parser_checksum,
            )
            self._stored_parses.fetch(self._parses, expected)

    def finish(self, numbers: Sequence[int]) -> None:
        """Gives the storage the parses that it lacks; the stage is complete there, too."""
        self._stored_parses.publish_missing(self._parses, numbers)
        self._stored_parses.publish_dataset_manifest(self._parses)

    def jobs(self, numbers: Sequence[int], **fields: Any) -> list[StoredShardJob]:
        """Returns the jobs of the shards that are not complete.

        Args:
            fields: of `StoredShardJob`, all that the folders do not tell.
        """
        return [
            StoredShardJob(
                storage=self._address,
                sentences=self._sentences_place,
                parses=self._parses_place,
                number=number,
                **fields,
            )
            for number in numbers
            if read_shard_manifest(self._parses, number) is None
        ]

    def _sentences_sha256(self, number: int) -> str:
        manifest = read_shard_manifest(self._sentences, number)
        if manifest is None:
            raise FileNotFoundError(
                f"{shard_path(self._sentences, number)}: not complete; run the stage again"
            )
        return manifest.sha256
