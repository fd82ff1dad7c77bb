"""What a shard must have been made of, to be taken from a storage for one of a stage."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.manifests import ShardManifest


@dataclass(frozen=True, slots=True)
class ShardOrigin:
    """What the manifest of the right shard says; an empty field is not compared."""

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
