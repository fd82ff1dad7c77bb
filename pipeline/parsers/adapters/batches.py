"""Batches of sentences of similar length, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def length_batches(lengths: Sequence[int], *, max_tokens: int) -> list[list[int]]:
    """Returns the sentences' positions, shortest first, cut into batches.

    Args:
        lengths: tokens of each sentence.
        max_tokens: bound of a batch's padded size, the artificial root counted in each sentence;
            a longer sentence stands alone.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    return _cut(order, lengths, max_tokens)


def shuffled_length_batches(
    lengths: Sequence[int], *, max_tokens: int, random: np.random.Generator
) -> list[list[int]]:
    """Returns batches as ``length_batches``, their order and membership shuffled.

    Sentences are ordered by a length blurred by a tenth, so that each epoch mixes them anew.
    """
    blurred = np.asarray(lengths) * random.uniform(0.9, 1.1, size=len(lengths))
    order = [int(position) for position in np.argsort(blurred, kind="stable")]
    batches = _cut(order, lengths, max_tokens)
    return [batches[position] for position in random.permutation(len(batches))]


def unpadded_batches(sizes: Sequence[int], *, max_tokens: int) -> list[list[int]]:
    """Returns the sentences' positions, shortest first, cut into batches that hold no padding.

    Args:
        sizes: what each sentence takes of a batch.
        max_tokens: bound of a batch's sum of sizes; a longer sentence stands alone.
    """
    batches: list[list[int]] = []
    taken = 0
    for position in sorted(range(len(sizes)), key=sizes.__getitem__):
        taken += sizes[position]
        if not batches or taken > max_tokens:
            batches.append([])
            taken = sizes[position]
        batches[-1].append(position)
    return batches


def _cut(order: Sequence[int], lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    batches: list[list[int]] = []
    widest = 0
    for position in order:
        widest = max(widest, lengths[position] + 1)
        if not batches or (len(batches[-1]) + 1) * widest > max_tokens:
            batches.append([])
            widest = lengths[position] + 1
        batches[-1].append(position)
    return batches
