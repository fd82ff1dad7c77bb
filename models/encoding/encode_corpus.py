"""Embeddings of a corpus' sentences, in the order of its rows.

Legend: n chosen rows, H width of a view, E dimensions of the word vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from models.corpus.parsed_corpus import ParsedCorpus
from models.corpus.sentence_block import SentenceBlock
from models.encoding.encoder_interface import FloatArray
from models.model.sentence_model import batch_of
from models.model.sentence_views import SentenceViews

Rows = NDArray[np.int64]


def encode_corpus(
    views: SentenceViews,
    corpus: ParsedCorpus,
    *,
    rows: Rows | None = None,
    batch_size: int = 256,
    on_progress: Callable[[float], None] | None = None,
) -> dict[str, FloatArray]:
    """Returns each view's embeddings, float32 [n, H], by place and name (``0-DEP``).

    Batches are cut from the sentences sorted by length, so that few levels run half empty; the
    result is in the order of ``rows``.

    Args:
        rows: rows of the dataset, counted over its shards, in any order; by default all that the
            corpus selects.
        on_progress: told the share of the shards done.

    Raises:
        ValueError: a row is not among those the corpus can give.
    """
    wanted = None if rows is None else np.unique(rows)
    found: list[Rows] = [np.zeros(0, dtype=np.int64)]
    parts = [[np.zeros((0, width), dtype=np.float32) for width in views.widths]]
    was_training = views.training
    views.eval()
    try:
        for number, block in _chosen_blocks(corpus, wanted):
            found.append(block.rows)
            parts.append(_embed_sorted(block, batch_size, views))
            if on_progress is not None:
                on_progress((number + 1) / corpus.num_shards)
    finally:
        views.train(was_training)
    all_found = np.concatenate(found)
    if wanted is not None and len(all_found) < len(wanted):
        missing = np.setdiff1d(wanted, all_found)
        raise ValueError(
            f"row {missing[0]} (and {len(missing) - 1} others) cannot be encoded: it is not in "
            "the chosen part of the corpus, lacks a parse or is too long"
        )
    order = slice(None) if rows is None else np.searchsorted(all_found, rows)
    arrays = [np.concatenate(pieces)[order] for pieces in zip(*parts, strict=True)]
    return dict(zip(views.names, arrays, strict=True))


def _chosen_blocks(
    corpus: ParsedCorpus, wanted: Rows | None
) -> Iterator[tuple[int, SentenceBlock]]:
    for number in range(corpus.num_shards):
        if wanted is None:
            block = corpus.read(number)
        else:
            first, last = np.searchsorted(wanted, corpus.row_range(number))
            if first == last:
                continue
            block = corpus.read(number)
            block = block.take(np.flatnonzero(np.isin(block.rows, wanted[first:last])))
        if len(block):
            yield number, block


def _embed_sorted(block: SentenceBlock, batch_size: int, views: SentenceViews) -> list[FloatArray]:
    by_length = np.argsort(block.lengths, kind="stable")
    pieces = []
    for start in range(0, len(block), batch_size):
        batch = batch_of(block.take(by_length[start : start + batch_size]))
        vectors = views(batch.to(views.encoder.device))
        pieces.append([view.float().cpu().numpy() for view in vectors])
    back = np.empty_like(by_length)
    back[by_length] = np.arange(len(by_length))
    return [np.concatenate(arrays)[back] for arrays in zip(*pieces, strict=True)]
