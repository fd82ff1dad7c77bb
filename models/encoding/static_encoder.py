"""Means of given word vectors, computed without torch: what most first calls ask for.

A model whose one view is the bag of its words (BOW), over vectors that were not trained any further
and no weights but those that follow from the words' counts, is a table and a mean. torch takes a
second to import, this a tenth.

Legend: V words, E word dimension, b sentences of a batch, k components.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.config.training_config import TrainingConfig
from models.config.views import Pooling
from models.corpus.sentence_block import SentenceBlock, pooled_words
from models.encoding.encoder_interface import FloatArray
from models.encoding.reading_encoder import EncoderSettings, ReadingEncoder, WordsEncoder
from models.encoding.sentence_reader import SentenceReader
from models.encoding.versions import describe_architecture, describe_encoding, weights_digest
from models.model.model_description import (
    MODEL_FILE,
    REMEDY,
    WEIGHTS_FILE,
    load_recorded_vectors,
    read_model_description,
)
from models.words.word_vectors import WordVectors, sif_weights
from pipeline.base.digest import digest_of
from pipeline.base.inside import inside
from pipeline.base.json_files import check_file, read_object

_SCALE = "encoder.embeddings.0.scale"
_REMOVED = "removed.0.directions"


class StaticEncoder(ReadingEncoder):
    """The mean of a model's words, its vectors as they are looked up."""

    _most_at_once = WordsEncoder._most_at_once

    def __init__(
        self,
        config: TrainingConfig,
        vectors: WordVectors,
        weights: Mapping[str, NDArray[np.float32]],
        settings: EncoderSettings | None = None,
    ) -> None:
        """Takes a model of which `is_static` holds.

        Args:
            vectors: as loaded, before what the configuration makes of them.
            weights: the model's saved state, but for what trained it.
        """
        super().__init__(SentenceReader(vectors, {}), settings)
        self.config = config
        self.device = "cpu"
        self._weights = weights
        self._removed = weights.get(_REMOVED)

    @cached_property
    def digest(self) -> str:
        """Of weights, architecture, word vectors and tokenization; the same as `TextEncoder`'s."""
        return digest_of(
            {
                "encoding": describe_encoding(self.config.views),
                "architecture": describe_architecture(self.config),
                "weights": weights_digest(self._weights),
                "read_with": self._reader.describe(),
            }
        )

    def widths(self, pooling: Sequence[Pooling] = ("last",)) -> dict[str, int]:
        """Returns the width of each array of `encode_views`, by its key and in its order."""
        return {f"0-BOW.{name}": self.vectors.size for name in pooling}

    @cached_property
    def _table(self) -> WordVectors:
        """The vectors as they are looked up: those that were given, where nothing changes them."""
        factors = self._factors()  # in the order in which `WordEmbedding` takes them
        return self.vectors.times(factors) if factors else self.vectors

    def _factors(self) -> list[NDArray[np.float32]]:
        """Returns what the vectors are multiplied by, one after another, each [] or [V, 1]."""
        scale, config = self._weights[_SCALE], self.config
        factors = [] if scale == 1 else [scale]
        weights: NDArray[Any] | None = None
        if config.word_weights == "sif":
            weights = sif_weights(self.vectors, config.sif_a)
        if config.unit_words:
            weights = (np.float32(1) if weights is None else weights) / self.vectors.lengths
        return factors if weights is None else [*factors, weights[:, None]]

    def _embed(self, block: SentenceBlock, pooling: Sequence[Pooling]) -> dict[str, FloatArray]:
        pooled = {}
        for name in pooling:
            vectors: FloatArray = pooled_words(self._table, block, name)
            if self._removed is not None and name in ("last", "mean"):
                vectors -= (vectors @ self._removed.T) @ self._removed
            pooled[f"0-BOW.{name}"] = vectors
        return pooled


def load_static_encoder(folder: Path, settings: EncoderSettings) -> StaticEncoder | None:
    """Returns the model of a folder, if it is static; None leaves it to `load_text_encoder`.

    That one also says what is wrong with a model or with the settings.

    Raises:
        FileNotFoundError: no model there.
        ValueError: it is damaged, or its word vectors are not found.
    """
    description = read_model_description(folder)
    recorded = description.vectors
    are_given = [settings.dependency_parser, settings.constituency_parser]
    if not is_static(description.config, settings) or any(are_given):
        return None
    if recorded.are_own and settings.vectors is not None:
        return None
    place = inside(folder, str(recorded.path)) if recorded.are_own else recorded.path
    vectors = load_recorded_vectors(recorded.checksum, place, settings.vectors)
    weights = _read_weights(folder, vectors)
    if weights is None:
        return None
    return StaticEncoder(description.config, vectors, weights, settings)


def untrained_static_encoder(vectors: WordVectors, settings: EncoderSettings) -> StaticEncoder:
    """Returns the untrained model of the settings, of which `is_static` holds.

    Raises:
        ValueError: vectors that are all zero are to be scaled.
    """
    config, scale = settings.config, 1.0
    if config.vector_rms is not None:
        scale = vectors.scale_to(config.vector_rms, unit=config.unit_words)
    return StaticEncoder(config, vectors, {_SCALE: np.array(scale, dtype=np.float32)}, settings)


def is_static(config: TrainingConfig, settings: EncoderSettings) -> bool:
    """Returns whether a model is a mean of words that were given, wanted on the processor."""
    return (
        config.test_views == ("BOW",)
        and config.word_vectors == "frozen"
        and config.word_weights in ("none", "sif")
        and config.precision != "bfloat16"
        and config.shuffled == "nothing"
        and settings.device == "cpu"
    )


def _read_weights(folder: Path, vectors: WordVectors) -> dict[str, NDArray[np.float32]] | None:
    """Returns what a static model's folder saved beside what trained it; None if it is odd."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = folder / WEIGHTS_FILE
    if not path.is_file():
        return None
    check_file(path, read_object(folder / MODEL_FILE, (), remedy=REMEDY), REMEDY)
    try:
        tensors: dict[str, NDArray[np.float32]] = load_file(path)
    except (OSError, SafetensorError):
        return None
    kept = {name: array for name, array in tensors.items() if not name.startswith("objective.")}
    if _SCALE not in kept or not kept.keys() <= {_SCALE, _REMOVED} or kept[_SCALE].shape:
        return None
    removed = kept.get(_REMOVED)
    fits = removed is None or (removed.ndim == 2 and removed.shape[1] == vectors.size)
    return kept if fits else None
