"""What gives an encoder its views: the bag of words, and means of given vectors without torch.

A model whose one view is the bag of its words (BOW), over vectors that were not trained any further
and no weights but those that follow from the words' counts, is a table and a mean. torch takes a
second to import, this a tenth. All other models are `models.encoding.torch_model`'s.

Legend: V words, E word dimension, H width of a view, b sentences of a batch, k components.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.views import VIEWS, Pooling
from treeviews.models.corpus.sentence_block import SentenceBlock, pool_words
from treeviews.models.encoding.encoder_names import WORDS_VIEW, key_of
from treeviews.models.encoding.search import FloatArray
from treeviews.models.encoding.sentence_reader import (
    SENTENCES_AT_ONCE,
    SentenceReader,
    describe_encoding,
)
from treeviews.models.model.model_description import (
    read_model_description,
    read_weights,
    vectors_of_model,
)
from treeviews.models.words.word_vectors import WordVectors, sif_weights
from treeviews.pipeline.base.digest import digest_of

_SCALE = "encoder.embeddings.0.scale"
_REMOVED = "removed.0.directions"
_ARCHITECTURE = (
    *("views", "bidirectional", "dep_cell", "read_rms", "words_beside", "shuffled", "precision"),
    *("word_weights", "sif_a", "unit_words"),
    *("decoder", "coupling_partition", "coupling_activation"),
)
"""Fields of a configuration that say what is computed with the weights, and are not their shapes.
Without a decoder the last ones change nothing but the digest."""
_IN_WEIGHTS = {"hidden_size", "init", "seq_cell"}
"""Settings of views that the weights' names, shapes or values tell."""


class ViewModel(ABC):
    """Embeds sentences that were read: one array a view and pooling."""

    most_at_once: ClassVar[tuple[int, int]] = SENTENCES_AT_ONCE, 1 << 17
    """Sentences and tokens of a batch, unless an encoder says another number of sentences; pooling
    words takes no memory of their number."""
    turn: AbstractContextManager[Any] = nullcontext()
    """What a thread holds while it encodes; for those that share what is written, a lock."""
    device = "cpu"

    def __init__(self, reader: SentenceReader, views: Mapping[str, int]) -> None:
        """Args: views: what each view is called -> its width."""
        self.reader, self.views = reader, views

    @property
    @abstractmethod
    def digest(self) -> str:
        """Of everything that determines the embeddings of a sentence, but for rounding."""

    def poolings(self, pooling: Sequence[Pooling]) -> Sequence[Pooling]:
        """Returns those of some poolings that are arrays of their own."""
        return pooling

    def widths(self, pooling: Sequence[Pooling]) -> dict[str, int]:
        """Returns the width of each array of `embed`, by `key_of` view and pooling."""
        names = self.poolings(pooling)
        return {key_of(view, name): width for view, width in self.views.items() for name in names}

    @abstractmethod
    def embed(self, block: SentenceBlock, pooling: Sequence[Pooling]) -> dict[str, FloatArray]:
        """Returns the vectors of one batch, [b, H] by key, in the order of `widths`."""

    def batches(self, block: SentenceBlock, size: int | None) -> Iterator[SentenceBlock]:
        """Yields the sentences in batches of like length, so that few levels run half empty."""
        by_length = np.argsort(block.lengths, kind="stable")
        lengths = block.lengths[by_length]
        most_sentences, most_tokens = self.most_at_once
        start = 0
        while start < len(by_length):
            limit = start + (size or most_sentences)
            # Sorted, so a batch's tokens are at most its size times its last length.
            tokens = lengths[start:limit] * np.arange(1, len(lengths[start:limit]) + 1)
            stop = start + max(1, int(np.searchsorted(tokens, most_tokens, side="right")))
            yield block.take(by_length[start:stop])
            start = stop


def model_digest(
    config: TrainingConfig, weights: Mapping[str, NDArray[Any]], reader: SentenceReader
) -> str:
    """Returns the digest of a model: of weights, architecture, words, parsers and tokenization.

    Args:
        weights: the saved state, the same on every device.
    """
    sha256 = hashlib.sha256()
    for name in sorted(weights):
        array = weights[name]
        sha256.update(f"{name} {array.dtype} {array.shape}".encode())
        sha256.update(np.ascontiguousarray(array).tobytes())
    return digest_of(
        {
            "encoding": describe_encoding(config.views),
            "architecture": describe_architecture(config),
            "weights": sha256.hexdigest(),
            "read_with": reader.describe(),
        }
    )


def describe_architecture(config: TrainingConfig) -> dict[str, Any]:
    """Returns the fields of a configuration that say what is computed with the weights."""
    of_views = {name for view in config.views for name in VIEWS[view].settings}
    names = dict.fromkeys((*_ARCHITECTURE, *sorted(of_views - _IN_WEIGHTS)))
    fields = {name: getattr(config, name) for name in names}
    # So what was kept before there was another cell is still found.
    return fields | {"seq_cell": config.seq_cell} if config.has_lstm else fields


class MeanModel(ViewModel):
    """The mean of words, given vectors as they are looked up, or a model that is nothing else.

    The words themselves are the view ``words``. They have no last state, so their mean is given for
    it; asked for both, it gives that one array.
    """

    def __init__(
        self,
        vectors: WordVectors,
        config: TrainingConfig | None = None,
        weights: Mapping[str, NDArray[np.float32]] | None = None,
    ) -> None:
        """Takes words, or a model of which `is_mean` holds.

        Args:
            vectors: as loaded, before what the configuration makes of them.
            config: of the model; None of the words alone.
            weights: the model's saved state, but for what trained it.
        """
        view = WORDS_VIEW if config is None else "0-BOW"
        super().__init__(SentenceReader(vectors, {}), {view: vectors.size})
        self.config, self._view, self._weights = config, view, weights or {}

    @cached_property
    def digest(self) -> str:
        """The same as `models.encoding.torch_model.TorchModel`'s; or of words and tokenization."""
        if self.config is not None:
            return model_digest(self.config, self._weights, self.reader)
        return digest_of({"encoding": describe_encoding(None), "read_with": self.reader.describe()})

    def poolings(self, pooling: Sequence[Pooling]) -> Sequence[Pooling]:
        """Returns them, of words alone the mean for the last state."""
        if self.config is not None:
            return pooling
        return list(dict.fromkeys("mean" if name == "last" else name for name in pooling))

    @cached_property
    def _table(self) -> WordVectors:
        """The vectors as they are looked up: those that were given, where nothing changes them."""
        config, vectors = self.config, self.reader.vectors
        if config is None:
            return vectors
        # In the order in which `WordEmbedding` takes them, each [] or [V, 1].
        scale = self._weights[_SCALE]
        factors = [] if scale == 1 else [scale]
        weights: NDArray[Any] | None = None
        if config.word_weights == "sif":
            weights = sif_weights(vectors, config.sif_a)
        if config.unit_words:
            weights = (np.float32(1) if weights is None else weights) / vectors.lengths
        if weights is not None:
            factors.append(weights[:, None])
        return vectors.times(factors) if factors else vectors

    def embed(self, block: SentenceBlock, pooling: Sequence[Pooling]) -> dict[str, FloatArray]:
        """Returns the vectors of one batch, without the components that were removed."""
        pooled, removed = {}, self._weights.get(_REMOVED)
        for name in self.poolings(pooling):
            vectors: FloatArray = pool_words(self._table, block, name)
            if removed is not None and name in ("last", "mean"):
                vectors -= (vectors @ removed.T) @ removed
            pooled[key_of(self._view, name)] = vectors
        return pooled


def is_mean(config: TrainingConfig, device: str) -> bool:
    """Returns whether a model is a mean of words that were given, wanted on the processor."""
    return (
        config.test_views == ("BOW",)
        and config.word_vectors == "frozen"
        and config.word_weights in ("none", "sif")
        and config.precision != "bfloat16"
        and config.shuffled == "nothing"
        and device == "cpu"
    )


def load_mean_model(folder: Path, device: str, vectors_path: Path | None) -> MeanModel | None:
    """Returns the model of a folder, if it is such a mean; None leaves it to `load_torch_model`.

    That one also says what is wrong with a model or with the settings.

    Raises:
        FileNotFoundError: no model there.
        ValueError: it is damaged, or its word vectors are not found.
    """
    description = read_model_description(folder)
    if not is_mean(description.config, device):
        return None
    vectors = vectors_of_model(folder, description, vectors_path)
    from safetensors.numpy import load_file

    tensors: dict[str, NDArray[np.float32]] = read_weights(folder, load_file)
    kept = {name: array for name, array in tensors.items() if not name.startswith("objective.")}
    if _SCALE not in kept or not kept.keys() <= {_SCALE, _REMOVED}:
        return None
    return MeanModel(vectors, description.config, kept)


def untrained_mean_model(config: TrainingConfig, vectors: WordVectors) -> MeanModel:
    """Returns the untrained model of a configuration of which `is_mean` holds.

    Raises:
        ValueError: vectors that are all zero are to be scaled.
    """
    scale = 1.0
    if config.vector_rms is not None:
        scale = vectors.scale_to(config.vector_rms, unit=config.unit_words)
    return MeanModel(vectors, config, {_SCALE: np.array(scale, dtype=np.float32)})
