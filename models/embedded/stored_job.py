"""What a machine of a cluster does of a corpus's embedding: shards from and to a storage.

The encoder itself must be where its name says, on every machine, such as in a shared folder; those
that ship are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.embedded.embed import EMBEDDING_VERSION
from pipeline.base.machine import check_releases
from pipeline.storage.stored_job import StoredJob


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEmbedJob(StoredJob):
    """Which shards to embed, by which encoder, and how."""

    module: str = "models.embed_shard"
    sentences: str
    """Folder of the sentence shards in the storage."""
    parses: Mapping[str, str]
    """Parse stage -> folder of its shards in the storage, of the stages that the encoder reads."""
    options: Mapping[str, Any]
    """Further fields of the job's file, see `models.embed_shard`."""
    described: Mapping[str, Any]
    """What `describe_embedding` says where the shards' digest was made."""

    @property
    def inputs(self) -> Mapping[str, str]:
        """The sentences and their parses."""
        parses = {f"parses/{stage}": place for stage, place in self.parses.items()}
        return {"sentences": self.sentences, **parses}

    def check_machine(self) -> None:
        """Checks that this machine embeds as the stage's digest says.

        Raises:
            ValueError: it does not; names what differs.
        """
        check_releases(self.described, describe_embedding())

    def description(self, scratch: Path, output: Path) -> dict[str, Any]:
        """Returns what to embed, by which encoder, and how."""
        return {
            **self.options,
            "sentences": str(scratch / "sentences"),
            "output": str(output),
            "parses": {stage: str(scratch / "parses" / stage) for stage in self.parses},
        }


def describe_embedding() -> dict[str, Any]:
    """Returns what of this release determines embeddings beside the encoder, for a digest."""
    return {"embedding_version": EMBEDDING_VERSION}
