"""What determines embeddings of raw sentences beside weights, vectors and the sentences themselves.

The one source of caches' keys and of tasks' digests; loads neither torch nor a parser.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.config.training_config import TrainingConfig
from models.config.views import needed_stages
from models.corpus.sentence_block import MAX_TOKENS
from pipeline.parsing.parse_shard import describe_parsing
from pipeline.text.tokenization import CLEANING_VERSION, TOKENIZATION_VERSION, spacy_version

ENCODING_VERSION = 1
"""Raised when the same weights, parsers and sentences would give other embeddings."""
WORDS_ENCODING_VERSION = 2
"""Raised when the same word vectors and sentences would give another bag of words."""

_ARCHITECTURE = (
    "views",
    "bidirectional",
    "dep_cell",
    "read_rms",
    "words_beside",
    "shuffled",
    "precision",
    "word_weights",
    "sif_a",
    "unit_words",
    "decoder",
    "coupling_partition",
    "coupling_activation",
)
"""Fields of a configuration that say what is computed with the weights, and are not their shapes.
Without a decoder the last ones change nothing but the digest."""


def describe_encoding(views: Sequence[str] | None) -> dict[str, Any]:
    """Returns what releases and installed libraries contribute to embeddings, for a digest.

    Args:
        views: of the encoder; None for the bag of words.
    """
    if views is None:
        return {"words_encoding_version": WORDS_ENCODING_VERSION, "tokens": describe_tokens()}
    return {
        "encoding_version": ENCODING_VERSION,
        "tokens": describe_tokens(),
        "parsing": {stage: describe_parsing(stage) for stage in needed_stages(views)},
    }


def describe_tokens() -> dict[str, Any]:
    """Returns everything but the sentences that determines their tokens."""
    return {
        "spacy": spacy_version(),
        "tokenization_version": TOKENIZATION_VERSION,
        "cleaning_version": CLEANING_VERSION,
        "max_tokens": MAX_TOKENS,
    }


def describe_architecture(config: TrainingConfig) -> dict[str, Any]:
    """Returns the fields of a configuration that say what is computed with the weights."""
    fields = {name: getattr(config, name) for name in _ARCHITECTURE}
    # So what was kept before there was another cell is still found.
    return fields | {"seq_cell": config.seq_cell} if config.has_lstm else fields


def weights_digest(state: Mapping[str, NDArray[Any]]) -> str:
    """Returns the sha256 of a module's saved state, the same on every device."""
    digest = hashlib.sha256()
    for name in sorted(state):
        array = state[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
