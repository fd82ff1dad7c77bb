"""Encodes what falls to one of several processes: ``python -m models.encode_part JOB.json``.

The job names the encoder, the folder in which the sentences are and the vectors will be, and how
they are asked for; see `models.encoding.processes`, which starts it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from models.encoding.named_encoder import load_origin
from models.encoding.processes import REFUSED_FILE, SENTENCES_FILE, VECTORS_FILE
from models.encoding.string_encoder import Asked
from pipeline.base.job import Progress, run_from_command_line


def execute(job: Mapping[str, Any], progress: Progress) -> None:
    """Runs a job; sentences that cannot be taken become zeros, and are listed in a file.

    Raises:
        ValueError: no such encoder here.
    """
    folder = Path(job["folder"])
    encoder = load_origin(job["encoder"])
    sentences = json.loads((folder / SENTENCES_FILE).read_text(encoding="ascii"))
    asked = Asked(tuple(job["pooling"]), job["batch_size"], first=job["first"])
    vectors = encoder._vectors(sentences, asked, lambda share: progress(share, "encoded"))
    refused = [[one.index, one.reason, one.detail] for one in getattr(encoder, "refused", [])]
    (folder / REFUSED_FILE).write_text(json.dumps(refused), encoding="utf-8")
    np.save(folder / VECTORS_FILE, vectors)


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute))
