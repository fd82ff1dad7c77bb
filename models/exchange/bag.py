"""A trained bag of words as a small folder that needs nothing beside it.

The trained table, weights included, becomes word vectors of a byte a number, and the model a mean
of them; if asked, without the components that the sentences of its corpus share (Arora et al. 2017,
algorithm 1).

Legend: V words, E word dimension, k components.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models.config.training_config import TrainingConfig
from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus, Selection
from models.corpus.sentence_block import SentenceBlock, pooled_words
from models.evaluation.linear_maps import principal_components
from models.model.model_description import (
    WORDS_FOLDER,
    ModelDescription,
    read_model_description,
)
from models.model.model_folder import load_model, save_model
from models.model.sentence_model import RemovedComponents, build_model
from models.words.embedding import WordEmbedding
from models.words.word_vectors import WordVectors, load_word_vectors
from pipeline.base.digest import sha256_of_file
from pipeline.shards.manifests import read_dataset_manifest
from pipeline.vectors.vector_folder import write_vectors

SAMPLE = 50_000
"""Sentences of the corpus that the components are found on, at most; evenly over its shards."""
_WORDS_AT_ONCE = 10_000
_BAG = TrainingConfig(views=("BOW",), objective="discriminative", vector_rms=None)
"""What the folder computes: the mean of given vectors. It says nothing of how they were trained."""


def export_bag(
    model_folder: Path,
    out: Path,
    *,
    num_words: int | None = None,
    components: int = 0,
    vectors_path: Path | None = None,
) -> None:
    """Writes the folder.

    Args:
        model_folder: of a trained model with a view BOW.
        out: a new folder.
        num_words: the most frequent ones; None takes all.
        components: k, how many are removed.
        vectors_path: where the word vectors lie that the training began with, if they were moved.

    Raises:
        FileNotFoundError: no model, or its corpus is gone and components are to be removed.
        ValueError: the model has no view BOW.
    """
    description = read_model_description(model_folder)
    if "BOW" not in description.config.views:
        raise ValueError(
            f"{model_folder}: views {', '.join(description.config.views)}; only a view BOW is "
            "words alone"
        )
    corpus = description.corpus.get("sentences")
    if components and corpus is None:
        raise ValueError(
            f"{model_folder}: names no corpus that components could be found on; give "
            "--components 0, or the folder of the model as it was trained"
        )
    if components and corpus is not None:
        read_dataset_manifest(corpus, "sentences")  # fails before anything is written
    words, table = _trained_words(model_folder, vectors_path)
    words = words if num_words is None else words.first(num_words)
    facts = {"model": _trained_as(description, model_folder), "words": len(words.index)}
    counts = None if words.counts is None else words.counts[1:]
    rows = table[1 : words.num_words]
    write_vectors(
        out / WORDS_FOLDER, words.index.words, rows, facts, counts=counts, kept_as="bytes"
    )
    vectors = load_word_vectors(out / WORDS_FOLDER)  # as they are after rounding
    model = build_model(_BAG, vectors, seed=0)
    if components:
        directions = _shared_directions(description, vectors, components)
        model.removed.append(RemovedComponents(torch.from_numpy(directions)))
    origin = {
        "vectors": {"path": WORDS_FOLDER, "checksum": vectors.checksum, "rms": vectors.rms},
        "trained": facts["model"],
        **({"licence": description.licence} if description.licence else {}),
    }
    save_model(out, model, origin)


def _trained_words(
    folder: Path, vectors_path: Path | None
) -> tuple[WordVectors, NDArray[np.float32]]:
    """Returns a model's words and what its lookup gives for each, [V, E]."""
    model = load_model(folder, vectors_path=vectors_path)
    place = model.encoder.views.index("BOW")
    tables = list(model.encoder.embeddings)
    embedding = tables[place if len(tables) > 1 else 0]
    assert isinstance(embedding, WordEmbedding)
    ids = torch.arange(model.vectors.num_words).split(_WORDS_AT_ONCE)
    with torch.no_grad():
        table = torch.cat([embedding(some) for some in ids])
    return model.vectors, table.numpy()


def _trained_as(description: ModelDescription, folder: Path) -> dict[str, Any]:
    """Returns how the words were trained."""
    return {
        "config": description.config.to_dict(),
        "weights_sha256": sha256_of_file(folder / "model.safetensors"),
    }


def _shared_directions(
    description: ModelDescription, vectors: WordVectors, count: int
) -> NDArray[np.float32]:
    """Returns the first principal components of sentences that were trained on, [k, E].

    Each sentence counts by its direction, whatever its length.

    Raises:
        FileNotFoundError: the corpus is gone.
    """
    folders = CorpusFolders(sentences=description.corpus["sentences"])
    selection = Selection("train", description.config.hold_out, description.config.max_tokens)
    corpus = ParsedCorpus(folders, vectors, views=("BOW",), selection=selection)
    sample = []
    for block in corpus.blocks():
        rows = np.linspace(0, len(block) - 1, num=min(len(block), SAMPLE // corpus.num_shards + 1))
        sample.append(_directions(block.take(np.unique(rows.astype(np.int64))), vectors))
    return principal_components(np.concatenate(sample), count)


def _directions(block: SentenceBlock, vectors: WordVectors) -> NDArray[np.float32]:
    means = pooled_words(vectors, block, "mean")
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return (means / np.where(lengths > 0, lengths, 1)).astype(np.float32)
