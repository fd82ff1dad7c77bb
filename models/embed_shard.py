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
from treeviews.pipeline.base.job import Progress, in_part, run_from_command_line


def execute(job: EmbedShardJob, on_progress: Progress) -> None:
    """Loads the encoder and embeds the shards that a job names and that do not stand yet.

    Those that stand are checked. That takes the encoder, too: whether they are by this one is told
    by what its folder holds now, and not by its name.

    Raises:
        FileNotFoundError: there is no such encoder, or a shard that it reads is not complete.
        ValueError: the encoder is not the expected one; or see
            `models.encoding.corpus_embeddings.embed_shard`.
    """
    on_progress(0.0, "loading the encoder")
    encoder = open_encoder(job.encoder, job.settings, job.version)
    if job.encoder_digest not in ("", encoder.digest):
        raise ValueError(
            f"encoder {job.encoder}: this machine has another one of this name (digest "
            f"{encoder.digest}) than the run began with ({job.encoder_digest}); let all machines "
            "reach the same"
        )
    for place in range(job.count):
        embed_shard(job, job.number + place, encoder, in_part(on_progress, place, job.count))


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute, kind=EmbedShardJob))
