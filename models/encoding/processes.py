"""Sentences shared among several processes, each of which loads the encoder once.

The processes are jobs of this project (`pipeline.base.job`), started as modules: nothing is forked
or pickled, a script needs no ``if __name__ == "__main__":``, and they end when this process does.
Each takes neighbouring sentences, cut where one process would cut them, so the vectors are the
same. Sentences and vectors go through files in a temporary folder.

Legend: n sentences, d width of an embedding.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from models.encoding.encoder_interface import FloatArray
from models.encoding.sentence_reader import SENTENCES_AT_ONCE
from models.encoding.string_encoder import Asked, Progress
from pipeline.base.job import JobFailedError, available_cores, run_job_process
from pipeline.base.refusal import RefusedSentence

JOB_MODULE = "models.encode_part"
SENTENCES_FILE, VECTORS_FILE, REFUSED_FILE = "sentences.json", "vectors.npy", "refused.json"


class _StoppedError(Exception):
    """Another process has failed, or nobody waits any more."""


@dataclass(frozen=True, slots=True)
class _Part:
    folder: Path
    first: int
    stop: int


def encode_by_processes(
    origin: Mapping[str, Any] | None,
    sentences: Sequence[str],
    asked: Asked,
    on_progress: Progress | None = None,
) -> tuple[FloatArray, list[RefusedSentence]]:
    """Returns the embeddings, float32 [n, d], and the sentences that are zeros in them.

    Args:
        origin: what the encoder is loaded by, see `models.encoding.named_encoder`.
        sentences: one at least.
        asked: ``processes`` is the most that are started: each gets some thousand sentences.
        on_progress: told the share of the sentences done.

    Raises:
        ValueError: the encoder was made in code and has no name to load it by.
        RuntimeError: a process failed; carries what it said.
    """
    if origin is None:
        raise ValueError(
            "several processes need an encoder that they can load: a name, a model's folder or "
            "package.module:name, not an object or function made in this process; leave out "
            "processes, or load it by its name"
        )
    with tempfile.TemporaryDirectory(prefix="treeviews-") as scratch:
        parts = _parts(Path(scratch), len(sentences), asked)
        for part in parts:
            part.folder.mkdir()
            text = json.dumps(sentences[part.first : part.stop])
            (part.folder / SENTENCES_FILE).write_text(text, encoding="ascii")
        _run(parts, origin, asked, on_progress)
        return _joined(parts)


def _parts(scratch: Path, num_sentences: int, asked: Asked) -> list[_Part]:
    """Returns who encodes what: whole pieces of what an encoder reads at once."""
    size = asked.batch_size or 1
    unit = -(-SENTENCES_AT_ONCE // size) * size  # own functions' batches go on over pieces
    num_units = -(-num_sentences // unit)
    num_parts = min(asked.processes, num_units)
    borders = [unit * (num_units * number // num_parts) for number in range(num_parts)]
    stops = [*borders[1:], num_sentences]
    return [
        _Part(scratch / str(number), first, stop)
        for number, (first, stop) in enumerate(zip(borders, stops, strict=True))
    ]


def _run(
    parts: Sequence[_Part],
    origin: Mapping[str, Any],
    asked: Asked,
    on_progress: Progress | None,
) -> None:
    threads = max(1, available_cores() // len(parts))
    stopped = Event()
    done = [0.0] * len(parts)
    total = parts[-1].stop

    def run(number: int, part: _Part) -> None:
        def follow(share: float, _: str) -> None:
            if stopped.is_set():
                raise _StoppedError
            done[number] = share * (part.stop - part.first)
            if on_progress is not None:
                on_progress(sum(done) / total)

        job = {
            "encoder": dict(origin),
            "folder": str(part.folder),
            "first": part.first,
            "pooling": list(asked.pooling),
            "batch_size": asked.batch_size,
        }
        job_path = part.folder / "job.json"
        try:
            run_job_process(JOB_MODULE, job, job_path, follow, threads=threads)
        except JobFailedError as error:
            raise _with_traceback(error, job_path) from None

    with ThreadPoolExecutor(len(parts)) as pool:
        futures = [pool.submit(run, number, part) for number, part in enumerate(parts)]
        try:
            for future in as_completed(futures):
                future.result()
        finally:
            stopped.set()


def _with_traceback(error: JobFailedError, job_path: Path) -> JobFailedError:
    """Returns the error with its traceback as a note: the file goes with the temporary folder."""
    path = job_path.with_name(f"{job_path.name}.traceback.txt")
    found = type(error)(str(error).replace(f" [traceback: {path}]", ""))
    with suppress(OSError):
        found.add_note(path.read_text(encoding="utf-8"))
    return found


def _joined(parts: Sequence[_Part]) -> tuple[FloatArray, list[RefusedSentence]]:
    """Returns what the processes left, in the order of the sentences."""
    vectors: FloatArray | None = None
    refused = []
    for part in parts:
        found = np.load(part.folder / VECTORS_FILE, mmap_mode="r")
        if vectors is None:
            vectors = np.empty((parts[-1].stop, found.shape[1]), dtype=np.float32)
        vectors[part.first : part.stop] = found
        for index, reason, detail in json.loads((part.folder / REFUSED_FILE).read_text()):
            refused.append(RefusedSentence(part.first + index, reason, detail))
    assert vectors is not None
    return vectors, refused
