"""Reads the word vectors that ship with the project, as a training's outside knowledge of words."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

VECTORS_NAME, WORDS_NAME = "vectors.safetensors", "words.json"
_TENSOR_NAME = "vectors"


@dataclass(frozen=True, eq=False)
class PretrainedVectors:
    """V words and their vectors, most frequent words first."""

    words: list[str]
    """Cased as they stand in text."""
    matrix: Tensor
    """``[V, E]`` float32."""

    def lower_cased(self) -> PretrainedVectors:
        """Returns one vector for each lower-cased word.

        It is the vector of the word as it is written in lower case or, where the vectors do not
        know that, of its most frequent spelling.
        """
        rows: dict[str, int] = {}
        for row, word in enumerate(self.words):
            rows.setdefault(word.lower(), row)
        rows |= {word: row for row, word in enumerate(self.words) if word in rows}
        return PretrainedVectors(list(rows), self.matrix[torch.tensor(list(rows.values()))])


def vector_files(folder: Path) -> tuple[Path, Path]:
    """Returns the files of a folder of word vectors that determine what is read from it."""
    return folder / VECTORS_NAME, folder / WORDS_NAME


def read_pretrained_vectors(folder: Path, max_words: int = 0) -> PretrainedVectors:
    """Returns the vectors of a folder with ``vectors.safetensors`` and ``words.json``.

    Args:
        folder: whose words are ordered by frequency.
        max_words: only the first so many; 0 for all.

    Raises:
        ValueError: a file is missing or malformed; names it and the remedy.
    """
    weights, words_file = vector_files(folder)
    remedy = "give a folder that python -m pipeline.vectors.train_word_vectors wrote"
    for path in (weights, words_file):
        if not path.is_file():
            raise ValueError(f"{path}: no such file; {remedy}")
    try:
        matrix = load_file(weights)[_TENSOR_NAME].float()
        words = json.loads(words_file.read_text(encoding="utf-8"))
    except (SafetensorError, KeyError, ValueError) as error:
        raise ValueError(f"{folder}: no word vectors ({error}); {remedy}") from error
    if matrix.ndim != 2 or len(words) != len(matrix):
        raise ValueError(
            f"{folder}: {len(words)} words for vectors of shape {list(matrix.shape)}; {remedy}"
        )
    count = max_words or len(words)
    return PretrainedVectors(words[:count], matrix[:count])
