"""What other libraries make of an exported table of words, without these libraries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

AWKWARD = [
    "The cat sat on the mat.",
    "I don't know; they'll've gone, won't they? It's John's!",
    'He said: "Mr. Smith\'s U.S. office (est. 1999) moved."',
    "Prices rose 3.5% to $1,200.50 in 10km, e.g. at 10am...",
    "THE DOG, THE CAT AND iPhone USERS",
    "see https://example.org/a-b?c=d and __init__.py or io.BytesIO",
    "well-known state-of-the-art either/or and/or w/o it",
    "qzxvwwqk zzqjx the zzz",
    "tabs\tand\u00a0spaces  and\u200bsoft\u00adhyphens\ufeff",
    "smile :) and (foo): or '90s; it costs ''nothing''",
    "a == b -> c ** d // e",
    "Dr. J. R. R. Tolkien, Ph.D., wrote 1,000,000 words — many…",
    "cannot gonna I'ma y'all ma'am o'clock °C. 5°C",
    "60mph, 5mg, (12mbar) and 1.5lb: 10km/h! 3m/s is km/h of 5mm² in 500ml of 16GB",
    "“Quoted” ‘single’ «double» — dash–dash --- and...and",
]


def means(folder: Path, sentences: Sequence[str]) -> np.ndarray:
    """Returns the mean of the rows of each sentence's tokens, as `EmbeddingBag` takes it."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    table = load_file(folder / "model.safetensors")["embeddings"]
    ids = [one.ids for one in tokenizer.encode_batch(sentences, add_special_tokens=False)]
    return np.stack([table[row].mean(axis=0) for row in ids])
