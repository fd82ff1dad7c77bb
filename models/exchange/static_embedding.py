"""Encoders that are means of word vectors, as the folder that other libraries have for them.

sentence-transformers opens it as its own ``StaticEmbedding``, model2vec as its ``StaticModel``,
both without a line of ours. All that an encoder of this kind does to words (weights, lengths, a
linear map, a decoder's inverse, components that are taken out) ends in one vector a word, and a
sentence's is the mean of its words': such an encoder is its answers to single words.

Legend: V words, id 0 the unknown one; R rows, those of further spellings included; d width of all
views together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models.config.views import UNORDERED_VIEWS
from models.corpus.sentence_block import SentenceBlock
from models.exchange.tokenizer_json import tokenizer_json
from models.model.sentence_model import SentenceModel, SentenceViews, batch_of
from models.words.word_vectors import UNKNOWN_ID, WordVectors
from pipeline.base.atomic_files import json_bytes, write_by_library, write_bytes_atomically

TENSOR = "embeddings"
"""Both libraries know a table of this name."""
_WORDS_AT_ONCE = 4_096


@dataclass(frozen=True, slots=True, eq=False)
class StaticEncoder:
    """A vector a word; a sentence's is their mean, an unknown word's is the first."""

    words: tuple[str, ...]
    """Length V."""
    table: NDArray[np.float32]
    """[V, d]."""


def static_encoder(model: SentenceModel) -> StaticEncoder:
    """Returns a model as one vector a word.

    Raises:
        ValueError: its vectors are no means over words; names what makes them none.
    """
    config = model.config
    if ordered := [view for view in config.test_views if view not in UNORDERED_VIEWS]:
        raise ValueError(
            f"views {', '.join(ordered)} read the order or the trees of a sentence, which no table "
            "of words holds"
        )
    if config.words_beside is not None:
        raise ValueError("words_beside gives each view length 1, which no table of words holds")
    views = SentenceViews(model).eval()
    rows = []
    for ids in np.array_split(
        np.arange(model.vectors.num_words, dtype=np.int32),
        -(-model.vectors.num_words // _WORDS_AT_ONCE),
    ):
        pooled = views.pool(batch_of(_one_word_each(ids), config), ("last",))
        rows.append(torch.cat([view["last"].float() for view in pooled], dim=1).cpu().numpy())
    return StaticEncoder(model.vectors.words, np.concatenate(rows))


def static_words(vectors: WordVectors) -> StaticEncoder:
    """Returns the plain mean of word vectors."""
    return StaticEncoder(vectors.words, vectors.rows(np.arange(vectors.num_words)))


def write_static(folder: Path, encoder: StaticEncoder) -> None:
    """Writes the files that both libraries read; the folder must be there.

    Raises:
        OSError: they cannot be written.
    """
    from safetensors.numpy import save_file

    words, rows, lower_case = _spellings(encoder.words)
    table = np.ascontiguousarray(encoder.table[rows], dtype=np.float32)
    tokenizer = tokenizer_json(words, lower_case=lower_case)
    write_by_library(folder / "model.safetensors", partial(save_file, {TENSOR: table}))
    _write(folder / "tokenizer.json", tokenizer)
    _write(folder / "config.json", _CONFIG)
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


def _write(path: Path, value: Mapping[str, Any]) -> None:
    write_bytes_atomically(path, json_bytes(value))


def _one_word_each(ids: NDArray[np.int32]) -> SentenceBlock:
    none = np.zeros(len(ids), dtype=np.int32)
    return SentenceBlock(
        token_ids=ids,
        offsets=np.arange(len(ids) + 1, dtype=np.int64),
        documents=none,
        sentence_index=none,
        rows=np.arange(len(ids), dtype=np.int64),
    )


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
