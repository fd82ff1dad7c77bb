"""Makes a trained model a folder to pass on, as ``treeviews models export`` does.

Of a bag of words the trained table, weights included, becomes word vectors of a byte a number, and
the model a mean of them; if asked, without the components that the sentences of its corpus share
(Arora et al. 2017, algorithm 1). The folder needs nothing beside it and is loaded like any model.

Another model keeps its weights and loses the places of its maker's machine: its words and parsers
must be among those that ship.

Legend: V words, E word dimension, k components.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models.config.training_config import TrainingConfig
from models.config.views import needed_stages
from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus, Selection
from models.corpus.sentence_block import SentenceBlock, pooled_words
from models.evaluation.representations.linear_maps import principal_components
from models.model.model_description import (
    ModelDescription,
    find_parser,
    read_model_description,
    recorded_parsers,
)
from models.model.model_folder import load_model, save_model
from models.model.sentence_model import RemovedComponents, build_model
from models.words.embedding import WordEmbedding
from models.words.vector_files import load_word_vectors
from models.words.word_vectors import WordVectors
from pipeline.base.bundled import BUNDLED_MODELS, BUNDLED_PARSERS, SHIPPED_VECTORS, shown
from pipeline.base.digest import sha256_of_file
from pipeline.shards.manifests import read_dataset_manifest
from pipeline.vectors.train_word_vectors import write_vectors

WORDS_FOLDER = "words"
SAMPLE = 50_000
"""Sentences of the corpus that the components are found on, at most; evenly over its shards."""
_WORDS_AT_ONCE = 10_000
_BAG = TrainingConfig(views=("BOW",), objective="discriminative", vector_rms=None)
"""What the folder computes: the mean of given vectors. It says nothing of how they were trained."""


def export_model(
    model: str | Path,
    out: Path,
    *,
    num_words: int | None = None,
    components: int = 0,
    vectors_path: Path | None = None,
) -> None:
    """Writes a model as a folder to pass on; see `export_bag` and `export_views`.

    Args:
        model: its folder, or the name of one that ships.
        out: the new folder.
        num_words: of a bag of words, the most frequent ones; None takes all.
        components: of a bag, how many are removed.
        vectors_path: where the word vectors lie, if they were moved.

    Raises:
        FileNotFoundError: no model there.
        ValueError: an argument out of range or of another kind of model, or as these two.
    """
    if components < 0 or (num_words is not None and num_words < 1):
        raise ValueError("--components must be 0 or more, --words 1 or more")
    folder = BUNDLED_MODELS.get(str(model), Path(model))
    views = read_model_description(folder).config.views
    if "BOW" in views:
        export_bag(
            folder, out, num_words=num_words, components=components, vectors_path=vectors_path
        )
    elif num_words is not None or components:
        raise ValueError(
            f"{folder}: --words and --components are of a bag of words, and its views are "
            f"{', '.join(views)}"
        )
    else:
        export_views(folder, out, vectors_path=vectors_path)


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
        out: the new folder.
        num_words: the most frequent ones; None takes all.
        components: k, how many are removed.
        vectors_path: where the word vectors lie that the training began with, if they were moved.

    Raises:
        FileNotFoundError: no model, or its corpus is gone and components are to be removed.
        ValueError: the model has no view BOW, or ``out`` holds something.
    """
    description = read_model_description(model_folder)
    if "BOW" not in description.config.views:
        raise ValueError(
            f"{model_folder}: views {', '.join(description.config.views)}; only a view BOW is "
            "words alone"
        )
    _refuse_full(out)
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
    facts = {"model": _trained_as(description, model_folder), "words": len(words.words) - 1}
    counts = None if words.counts is None else words.counts[1:]
    rows = table[1 : len(words.words)]
    write_vectors(out / WORDS_FOLDER, words.words[1:], rows, facts, counts=counts, in_bytes=True)
    vectors = load_word_vectors(out / WORDS_FOLDER)  # as they are after rounding
    model = build_model(_BAG, vectors, seed=0)
    if components:
        directions = _shared_directions(description, vectors, components)
        model.removed.append(RemovedComponents(torch.from_numpy(directions)))
    origin = {
        "vectors": {"path": WORDS_FOLDER, "checksum": vectors.checksum, "rms": vectors.rms},
        "trained": facts["model"],
    }
    save_model(out, model, origin)


def export_views(model_folder: Path, out: Path, *, vectors_path: Path | None = None) -> None:
    """Writes the folder of a model that reads words and parsers that ship.

    Args:
        model_folder: of a trained model.
        out: the new folder.
        vectors_path: where the word vectors lie, if they were moved.

    Raises:
        FileNotFoundError: no model there.
        ValueError: its words are trained or none that ship, nor is a parser; or ``out`` holds
            something.
    """
    description = read_model_description(model_folder)
    _refuse_full(out)
    if description.config.word_vectors == "trained":
        raise ValueError(
            f"{model_folder}: its words were trained, and only those of a view BOW can be passed on"
        )
    model = load_model(model_folder, vectors_path=vectors_path)
    vectors = model.vectors
    shipped = {load_word_vectors(path).checksum for path in SHIPPED_VECTORS}
    if vectors.checksum not in shipped:
        raise ValueError(
            f"{model_folder}: its word vectors are none that ship "
            f"({', '.join(map(shown, SHIPPED_VECTORS))}); train with one of these as --vectors"
        )
    records = recorded_parsers(description, needed_stages(model.config.views))
    for stage, record in records.items():
        find_parser(stage, record, BUNDLED_PARSERS[stage])
    origin = {
        "vectors": {"path": None, "checksum": vectors.checksum, "rms": vectors.rms},
        "parsers": {
            stage: replace(record, path=None).to_dict()
            for stage, record in records.items()
            if record is not None
        },
    }
    out.mkdir(parents=True, exist_ok=True)
    save_model(out, model, origin)


def _refuse_full(out: Path) -> None:
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out}: not empty; give a new folder")


def _trained_words(
    folder: Path, vectors_path: Path | None
) -> tuple[WordVectors, NDArray[np.float32]]:
    """Returns a model's words and what its lookup gives for each, [V, E]."""
    model = load_model(folder, vectors_path=vectors_path)
    place = model.encoder.views.index("BOW")
    tables = list(model.encoder.embeddings)
    embedding = tables[place if len(tables) > 1 else 0]
    assert isinstance(embedding, WordEmbedding)
    ids = torch.arange(len(model.vectors.words)).split(_WORDS_AT_ONCE)
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
    folders = CorpusFolders(description.corpus["sentences"])
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
