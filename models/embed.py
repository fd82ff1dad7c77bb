"""Writes the embeddings of the probing sentences: ``python -m models.embed JOB.json``.

The job names the probing folder, the two parsed datasets and the encoder::

    {"probing": "...", "out": "...", "threads": 1, "device": "cpu",
     "corpus":  {"sentences": "...", "dependencies": "...", "constituents": "..."},
     "altered": {"sentences": "...", "dependencies": "...", "constituents": "..."},
     "encoder": {"kind": "trained", "model": "..."}}

The encoder is one of::

    {"kind": "trained", "model": "...", "vectors": "..."}
    {"kind": "random", "config": {...}, "vectors": "...", "seed": 0}
    {"kind": "bag_of_words", "vectors": "..."}

``random`` is the architecture of a training's configuration with untrained weights, so it need
not wait for the training. A trained model finds its word vectors where they lay in training
unless ``vectors`` is given. One float32 ``.npy`` per view comes out, [rows, width]; rows that no
task uses are NaN. ``embed.json`` is written last.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus
from models.corpus.sentence_block import pooled_words
from models.encode_corpus import encode_corpus
from models.evaluation.probing.data import ProbingData, read_probing
from models.evaluation.rows import BAG_OF_WORDS_FILE
from models.model_folder import load_model, random_model
from models.sentence_model import SentenceModel
from models.sentence_views import SentenceViews
from models.training_config import TrainingConfig
from models.words.vector_files import load_word_vectors
from pipeline.atomic_files import TEMPORARY_SUFFIX, write_json_atomically
from pipeline.job import Progress, run_from_command_line
from pipeline.parsers.device import automatic_device

MARKER_NAME = "embed.json"
_KINDS = ("trained", "random", "bag_of_words")

FloatArray = npt.NDArray[np.float32]
Encode = Callable[[CorpusFolders, npt.NDArray[np.int64]], dict[str, FloatArray]]
"""From a dataset and rows of it to each view's embeddings [n, width], by file name."""


def execute(job: Mapping[str, Any], progress: Progress) -> None:
    """Runs a job.

    Raises:
        FileNotFoundError: an input is missing.
        ValueError: an unknown kind of encoder or one that lacks a key, or a sentence that cannot
            be encoded.
    """
    started = time.perf_counter()
    torch.set_num_threads(int(job.get("threads", 1)))
    data = read_probing(Path(job["probing"]))
    encode = _encoder(job["encoder"], automatic_device(job.get("device", "cpu")))
    embeddings = embed_rows(
        encode, data, {part: _folders(job[part]) for part in data.dataset_rows}, progress
    )
    out = Path(job["out"])
    out.mkdir(parents=True, exist_ok=True)
    for name, matrix in embeddings.items():
        _save(out / f"{name}.npy", matrix)
    seconds = time.perf_counter() - started
    num_encoded = len(data.used_rows())
    write_json_atomically(
        out / MARKER_NAME,
        {
            "encoder": dict(job["encoder"]),
            "widths": {name: int(matrix.shape[1]) for name, matrix in embeddings.items()},
            "num_rows": data.num_rows,
            "num_encoded": num_encoded,
            "seconds": round(seconds, 3),
        },
    )
    progress(1.0, f"{num_encoded} sentences, {num_encoded / seconds:.0f}/s")


def embed_rows(
    encode: Encode,
    data: ProbingData,
    folders: Mapping[str, CorpusFolders],
    progress: Progress,
) -> dict[str, FloatArray]:
    """Returns each view's embeddings [num_rows, width]; NaN where no task uses the row."""
    used = np.zeros(data.num_rows, dtype=bool)
    used[data.used_rows()] = True
    matrices: dict[str, FloatArray] = {}
    first = 0
    for part, dataset_rows in data.dataset_rows.items():
        rows = np.arange(first, first + len(dataset_rows))
        rows = rows[used[rows]]
        if len(rows):
            for name, found in encode(folders[part], dataset_rows[rows - first]).items():
                matrix = matrices.setdefault(
                    name, np.full((data.num_rows, found.shape[1]), np.nan, dtype=np.float32)
                )
                matrix[rows] = found
        first += len(dataset_rows)
        progress(0.95 * first / data.num_rows, f"{part} embedded")
    return matrices


def _encoder(spec: Mapping[str, Any], device: str) -> Encode:
    kind = spec.get("kind")
    if kind not in _KINDS:
        raise ValueError(f"unknown kind of encoder {kind!r}; known: {', '.join(_KINDS)}")
    if kind == "bag_of_words":
        return _bag_of_words(Path(_need(spec, "vectors")))
    if kind == "random":
        return _views(_random(spec), device)
    return _views(_trained(spec), device)


def _trained(spec: Mapping[str, Any]) -> SentenceModel:
    vectors = spec.get("vectors")
    return load_model(
        Path(_need(spec, "model")), vectors_path=None if vectors is None else Path(vectors)
    )


def _random(spec: Mapping[str, Any]) -> SentenceModel:
    config = TrainingConfig.from_dict(_need(spec, "config"))
    vectors = load_word_vectors(Path(_need(spec, "vectors")))
    return random_model(config, vectors, int(_need(spec, "seed")))


def _need(spec: Mapping[str, Any], key: str) -> Any:
    if key not in spec:
        raise ValueError(f"an encoder of kind {spec['kind']} needs {key!r}, got {sorted(spec)}")
    return spec[key]


def _bag_of_words(path: Path) -> Encode:
    vectors = load_word_vectors(path)

    def encode(folders: CorpusFolders, rows: npt.NDArray[np.int64]) -> dict[str, FloatArray]:
        corpus = ParsedCorpus(folders, vectors, views=("BOW",))
        blocks = [corpus.read(number) for number in range(corpus.num_shards)]
        means = np.concatenate([pooled_words(vectors, block) for block in blocks])
        found = np.concatenate([block.rows for block in blocks])
        return {BAG_OF_WORDS_FILE: means[np.searchsorted(found, rows)]}

    return encode


def _views(model: SentenceModel, device: str) -> Encode:
    views = SentenceViews(model).to(device)

    def encode(folders: CorpusFolders, rows: npt.NDArray[np.int64]) -> dict[str, FloatArray]:
        corpus = ParsedCorpus(folders, model.vectors, views=model.config.views)
        return encode_corpus(views, corpus, rows=rows)

    return encode


def _folders(value: Mapping[str, str]) -> CorpusFolders:
    return CorpusFolders(**{stage: Path(path) for stage, path in value.items()})


def _save(path: Path, matrix: FloatArray) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
    with temporary.open("wb") as stream:
        np.save(stream, matrix, allow_pickle=False)
    temporary.replace(path)


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute))
