"""The classes of tree depth, thinned until depth says little about sentence length."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

from models.evaluation.derived import label_rules
from models.evaluation.derived.candidates import Candidate, intact_of, quantile_bins
from models.evaluation.derived.held_out.config import ProbingConfig
from models.evaluation.derived.held_out.stable_order import stable_number
from models.evaluation.derived.sentences import ParsedSentence

LENGTH_TRIM = 0.2
"""Tree depth leaves out this share of the shortest and of the longest sentences, whose depths
hardly vary apart from their lengths."""
MIN_DEPTH_SHARE = 0.06
"""Tree depth leaves out the depths that fewer sentences have (published: 7 depths, 5 to 11)."""
NUM_CELL_LENGTHS = 8
"""Length bins within which tree depth is thinned."""


def tree_depths(sentences: Sequence[ParsedSentence], config: ProbingConfig) -> list[Candidate]:
    """Labels sentences by tree depth, thinned until depth says little about length.

    A cell of depth d and length bin l keeps at most ``s * N * p(d) * p(l)`` sentences, with p the
    marginals of all N: the product in which both are independent. The largest s is taken whose
    correlation is low enough, or the smallest that leaves enough sentences.
    """
    middle = _of_middling_length(intact_of(sentences))
    depths = [label_rules.tree_depth(sentence) for sentence in middle]
    shares = Counter(depths)
    pool = [
        (sentence, depth)
        for sentence, depth in zip(middle, depths, strict=True)
        if shares[depth] >= MIN_DEPTH_SHARE * len(middle)
    ]
    wanted = sum(config.minimal_sizes.values()) * 2
    kept = pool
    for tenths in range(10, 0, -1):
        thinned = _thin(pool, tenths / 10, config)
        if len(thinned) < wanted:
            break
        kept = thinned
        if (
            abs(depth_length_correlation([sentence for sentence, _ in kept]))
            <= config.max_depth_length_correlation
        ):
            break
    return [Candidate(sentence, f"{depth:02d}") for sentence, depth in kept]


def _of_middling_length(sentences: Sequence[ParsedSentence]) -> list[ParsedSentence]:
    lengths = sorted(len(sentence.tokens) for sentence in sentences)
    if not lengths:
        return []
    trimmed = math.floor(LENGTH_TRIM * len(lengths))
    shortest, longest = lengths[trimmed], lengths[-1 - trimmed]
    return [s for s in sentences if shortest <= len(s.tokens) <= longest]


_Deep = tuple[ParsedSentence, int]


def _thin(pool: Sequence[_Deep], scale: float, config: ProbingConfig) -> list[_Deep]:
    edges = quantile_bins([len(sentence.tokens) for sentence, _ in pool], NUM_CELL_LENGTHS)
    cell_of = {s.row: (depth, bisect_right(edges, len(s.tokens))) for s, depth in pool}
    by_depth = Counter(depth for depth, _ in cell_of.values())
    by_length = Counter(length for _, length in cell_of.values())
    room = {
        (depth, length): math.floor(scale * by_depth[depth] * by_length[length] / len(pool))
        for depth, length in set(cell_of.values())
    }
    kept: list[_Deep] = []
    for sentence, depth in sorted(
        pool, key=lambda item: stable_number(config.seed, "thin", item[0].row)
    ):
        if room[cell_of[sentence.row]] > 0:
            room[cell_of[sentence.row]] -= 1
            kept.append((sentence, depth))
    return sorted(kept, key=lambda item: item[0].row)


def depth_length_correlation(sentences: Sequence[ParsedSentence]) -> float:
    """Returns Pearson's r of tree depth and sentence length; 0 where either does not vary."""
    depths = [float(label_rules.tree_depth(sentence)) for sentence in sentences]
    lengths = [float(len(sentence.tokens)) for sentence in sentences]
    return pearson(depths, lengths)


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Returns Pearson's correlation of two equally long series; 0 where either is constant."""
    mean_x, mean_y = math.fsum(xs) / max(len(xs), 1), math.fsum(ys) / max(len(ys), 1)
    covariance = math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    spread_x = math.fsum((x - mean_x) ** 2 for x in xs)
    spread_y = math.fsum((y - mean_y) ** 2 for y in ys)
    product = spread_x * spread_y
    return covariance / math.sqrt(product) if product > 0 else 0.0
