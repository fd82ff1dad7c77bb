"""Encoders that are means of word vectors, as folders that need nothing beside them.

A table of words opens in other libraries: sentence-transformers has it as its own
``StaticEmbedding``, model2vec as its ``StaticModel``, both without a line of ours. All that such an
encoder does to words (weights, lengths, a linear map, a decoder's inverse, components that are
taken out) ends in one vector a word, and a sentence's is the mean of its words': the encoder is its
answers to single words.

A trained bag of words also becomes a small folder of ours, a byte a number; if asked, without the
components that the sentences of its corpus share (Arora et al. 2017, algorithm 1).

Legend: V words, id 0 the unknown one; R rows, those of further spellings included; d width of all
views together; E word dimension, k components.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.views import is_mean
from treeviews.models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus
from treeviews.models.corpus.sentence_block import SentenceBlock, pool_words
from treeviews.models.evaluation.representation import principal_components
from treeviews.models.exchange.export_card import ExportOptions
from treeviews.models.exchange.tokenizer_json import tokenizer_json
from treeviews.models.model.model_description import (
    WEIGHTS_FILE,
    WORDS_FOLDER,
    ModelDescription,
    read_model_description,
)
from treeviews.models.model.model_folder import load_model, save_model
from treeviews.models.model.sentence_model import (
    RemovedComponents,
    SentenceModel,
    SentenceViews,
    batch_of,
    build_model,
)
from treeviews.models.words.word_embedding import WordEmbedding
from treeviews.models.words.word_vectors import UNKNOWN_ID, WordVectors, load_word_vectors
from treeviews.pipeline.base.atomic_files import (
    json_bytes,
    write_by_library,
    write_bytes_atomically,
)
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.pipeline.vectors.vector_folder import write_vectors

TENSOR = "embeddings"
"""sentence-transformers and model2vec know a table of this name."""
_WORDS_AT_ONCE = 4_096


def word_table(model: SentenceModel) -> NDArray[np.float32]:
    """Returns a model as one vector a word, [V, d]; an unknown word's is the first.

    Raises:
        ValueError: its vectors are no means over words; names what makes them none.
    """
    config = model.config
    if ordered := [view for view in config.test_views if not is_mean(view)]:
        raise ValueError(
            f"views {', '.join(ordered)} read the order or the trees of a sentence, which no table "
            "of words holds"
        )
    if config.words_beside is not None:
        raise ValueError("words_beside gives each view length 1, which no table of words holds")
    views = SentenceViews(model).eval()
    rows = []
    for first in range(0, model.vectors.num_words, _WORDS_AT_ONCE):
        stop = min(first + _WORDS_AT_ONCE, model.vectors.num_words)
        ids = np.arange(first, stop, dtype=np.int64)
        one_each = SentenceBlock.of_words(ids.astype(np.int32), np.arange(len(ids) + 1), ids)
        pooled = views.pool(batch_of(one_each, config), ("last",))
        rows.append(torch.cat([view["last"].float() for view in pooled], dim=1).cpu().numpy())
    return np.concatenate(rows)


def write_word_table(folder: Path, words: Sequence[str], table: NDArray[np.float32]) -> None:
    """Writes the files that both libraries read; the folder must be there.

    Args:
        words: V.
        table: [V, d].

    Raises:
        OSError: they cannot be written.
    """
    from safetensors.numpy import save_file

    spellings, rows, lower_case = _spellings(words)
    content = {TENSOR: np.ascontiguousarray(table[rows], dtype=np.float32)}
    tokenizer = tokenizer_json(spellings, lower_case=lower_case)
    write_by_library(folder / "model.safetensors", partial(save_file, content))
    write_bytes_atomically(folder / "tokenizer.json", json_bytes(tokenizer))
    write_bytes_atomically(folder / "config.json", json_bytes(_CONFIG))
    write_modules(folder, "sentence_transformers.models.StaticEmbedding")


_CONFIG = {
    "model_type": "model2vec",
    "architectures": ["StaticModel"],
    "normalize": False,
    "max_length": None,
    "embedding_dtype": "float32",
}
"""model2vec's; without a length it cuts no sentence."""


def write_modules(folder: Path, module: str) -> None:
    """Writes what tells sentence-transformers which module reads the folder.

    Args:
        module: its class, by its full name.
    """
    modules = [{"idx": 0, "name": "0", "path": "", "type": module}]
    write_bytes_atomically(folder / "modules.json", json_bytes(modules))
    settings: dict[str, Any] = {
        "model_type": "SentenceTransformer",
        "prompts": {},
        "default_prompt_name": None,
        "similarity_fn_name": "cosine",
    }
    write_bytes_atomically(folder / "config_sentence_transformers.json", json_bytes(settings))


def _spellings(words: Sequence[str]) -> tuple[dict[str, int], NDArray[np.int64], bool]:
    """Returns spelling -> row, the word whose vector each row has, [R], and if all are small.

    A word that is not known as it stands is looked up in small letters. Where all words are of
    small letters the tokenizer sees to that, and each row is a word. Else words have rows for the
    spellings ``Word`` and ``WORD``, too.
    """
    known: dict[str, int] = {}
    for number, word in enumerate(words):
        if number != UNKNOWN_ID:
            known.setdefault(word, number)
    rows = list(range(len(words)))
    lower_case = all(word == word.lower() for word in known)
    if not lower_case:
        for word, number in list(known.items()):
            for spelling in (word[:1].upper() + word[1:], word.upper()):
                if spelling not in known and spelling.lower() == word:
                    known[spelling] = len(rows)
                    rows.append(number)
    return known, np.array(rows, dtype=np.int64), lower_case


SAMPLE = 50_000
"""Sentences of the corpus that the components are found on, at most; evenly over its shards."""
_BAG = TrainingConfig(views=("BOW",), objective="discriminative", vector_rms=None)
"""What the folder computes: the mean of given vectors. It says nothing of how they were trained."""


def export_bag(model_folder: Path, out: Path, options: ExportOptions) -> None:
    """Writes a trained bag of words as a small folder of ours.

    Args:
        model_folder: of a trained model with a view BOW.
        out: a new folder.
        options: how many words and components, and where the word vectors lie that the training
            began with, if they were moved.

    Raises:
        FileNotFoundError: no model, or its corpus is gone and components are to be removed.
        ValueError: the model names no corpus, and components are to be removed.
    """
    components, num_words = options.components, options.num_words
    description = read_model_description(model_folder)
    corpus = description.corpus.get("sentences")
    if components and corpus is None:
        raise ValueError(
            f"{model_folder}: names no corpus that components could be found on; give "
            "--components 0, or the folder of the model as it was trained"
        )
    if components and corpus is not None:
        read_dataset_manifest(corpus, "sentences")  # fails before anything is written
    words, table = _trained_words(model_folder, options.vectors)
    words = words if num_words is None else words.first(num_words)
    trained = {
        "config": description.config.to_dict(),
        "weights_sha256": sha256_of_file(model_folder / WEIGHTS_FILE),
    }
    facts = {"model": trained, "words": len(words.index)}
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
        "trained": trained,
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


def _shared_directions(
    description: ModelDescription, vectors: WordVectors, count: int
) -> NDArray[np.float32]:
    """Returns the first principal components of sentences that were trained on, [k, E].

    Each sentence counts by its direction, whatever its length.

    Raises:
        FileNotFoundError: the corpus is gone.
    """
    folders = CorpusFolders(sentences=description.corpus["sentences"])
    config = description.config
    corpus = ParsedCorpus(folders, vectors, views=("BOW",), config=config, part="train")
    sample = []
    for block in corpus.blocks():
        rows = np.linspace(0, len(block) - 1, num=min(len(block), SAMPLE // corpus.num_shards + 1))
        means = pool_words(vectors, block.take(np.unique(rows.astype(np.int64))), "mean")
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        sample.append((means / np.where(lengths > 0, lengths, 1)).astype(np.float32))
    return principal_components(np.concatenate(sample), count)
