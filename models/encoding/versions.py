"""What determines embeddings of raw sentences beside weights, vectors and the sentences themselves.

The one source of caches' keys and of tasks' digests; loads neither torch nor a parser.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from models.config.views import needed_stages
from models.corpus.sentence_block import MAX_TOKENS
from pipeline.parsing.parse_shard import describe_parsing
from pipeline.text.tokenization import (
    CLEANING_VERSION,
    TOKENIZATION_VERSION,
    spacy_version,
)

ENCODING_VERSION = 1
"""Raised when the same weights, parsers and sentences would give other embeddings."""
WORDS_ENCODING_VERSION = 2
"""Raised when the same word vectors and sentences would give another bag of words."""


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
