"""The job that embeds a range of a corpus' shards by one encoder, which it loads once.

``python -m treeviews.models.embed_shard JOB.json``, whose file holds an `EmbedShardJob`:
``{"encoder": "english", "sentences": FOLDER, "output": FOLDER, "number": 0}``, and what else is not
as it is by default. A shard is whole or absent, and one row group of it is in memory at a time.
Shards that stand are held against what they would be made of and by and stay, so that a range that
was killed goes on where it was.
"""

from __future__ import annotations

import sys

from treeviews.models.encoding.corpus_embeddings import EmbedShardJob, embed_shard, open_encoder
from treeviews.models.encoding.encoder import EncoderSettings
from treeviews.pipeline.base.job import Progress, Rated, run_from_command_line
from treeviews.pipeline.shards.manifests import read_shard_manifest


def execute(job: EmbedShardJob, on_progress: Progress) -> None:
    """Loads the encoder and embeds the shards that a job names and that do not stand yet.

    Those that stand are checked before any is made. That takes the encoder, too: whether they are
    by this one is told by what its folder holds now, and not by its name.

    Raises:
        FileNotFoundError: there is no such encoder, or a shard that it reads is not complete.
        ValueError: the encoder is not the expected one; or see
            `models.encoding.corpus_embeddings.embed_shard`.
    """
    wanted = range(job.number, job.number + job.count)
    missing = [number for number in wanted if read_shard_manifest(job.output, number) is None]
    on_progress(0.0, "loading the encoder")
    encoder = open_encoder(job.encoder, _on_device(job.settings), job.version)
    if job.encoder_digest not in ("", encoder.digest):
        raise ValueError(
            f"encoder {job.encoder}: this machine has another one of this name (digest "
            f"{encoder.digest}) than the run began with ({job.encoder_digest}); let all machines "
            "reach the same"
        )
    for number in sorted(set(wanted).difference(missing)):
        embed_shard(job, number, encoder)
    for place, number in enumerate(missing):

        def follow(share: float, status: str, place: int = place, number: int = number) -> None:
            told = Rated.like(status, f"shard {number}: {status}")
            on_progress((place + share) / len(missing), told)

        embed_shard(job, number, encoder, follow)


def _on_device(settings: EncoderSettings) -> EncoderSettings:
    """Returns settings whose device is this machine's, where it is ``auto``."""
    if settings.device != "auto":
        return settings
    from treeviews.models.encoding.torch_model import available_device

    return settings.changed(device=available_device("auto"))


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute, kind=EmbedShardJob))
