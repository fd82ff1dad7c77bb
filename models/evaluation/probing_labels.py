"""From sentences to labelled candidates: rules for one sentence, and how classes form of many.

A rule is a pure function of a parsed sentence and gives None where it does not apply. The tags are
Penn Treebank's, the relations Universal Dependencies'. The classes of tree depth are thinned until
depth says little about sentence length.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from treeviews.models.evaluation.probing_sentences import (
    ParsedSentence,
    ProbingConfig,
    stable_number,
    text_key,
)

TENSES = {"VBD": "past", "VBP": "present", "VBZ": "present"}
NUMBERS = {"NN": "singular", "NNP": "singular", "NNS": "plural", "NNPS": "plural"}
_AUXILIARY = ("aux", "cop")


@dataclass(frozen=True, slots=True)
class Marked:
    """A label and the word that bears it."""

    label: str
    word: str
    """Lower-cased."""


def tree_depth(sentence: ParsedSentence) -> int:
    """Returns the number of constituents on the longest path from the root to a word.

    Every label of a collapsed unary chain counts, so collapsing does not change the depth.
    """
    deepest = 0
    open_spans: list[tuple[int, int]] = []
    for start, end, label in zip(sentence.starts, sentence.ends, sentence.labels, strict=True):
        while open_spans and open_spans[-1][0] <= start:
            open_spans.pop()
        depth = (open_spans[-1][1] if open_spans else 0) + len(label.split("+"))
        deepest = max(deepest, depth)
        open_spans.append((end, depth))
    return deepest


def top_constituents(sentence: ParsedSentence) -> str | None:
    """Returns the labels of the constituents right below the top S, as ``NP VP .``.

    Of a chain of unary constituents that is the highest; a word that hangs from S directly gives
    its part-of-speech tag. None where the top is no S.
    """
    top, *chain = sentence.labels[0].split("+")
    if top != "S":
        return None
    if chain:
        return chain[0]
    below: list[str] = []
    position = 0
    spans = zip(sentence.starts[1:], sentence.ends[1:], sentence.labels[1:], strict=True)
    for start, end, label in spans:
        if start >= position:
            below += [*sentence.tags[position:start], label.split("+")[0]]
            position = end
    return " ".join([*below, *sentence.tags[position:]])


def tense(sentence: ParsedSentence) -> Marked | None:
    """Returns the tense of the main clause and its finite verb.

    The finite verb is the first auxiliary or copula of the root ("*was* called", "*is* a list"),
    and the root itself where it has none. None where that word is a modal, an infinitive or an
    imperative, whose tags bear no tense.
    """
    root = sentence.heads.index(0)
    finite = next(iter(_children(sentence, root, _AUXILIARY)), root)
    label = TENSES.get(sentence.tags[finite])
    return Marked(label, sentence.tokens[finite].lower()) if label else None


def _children(sentence: ParsedSentence, head: int, relations: Sequence[str]) -> list[int]:
    """Returns the words that hang from a word by one of these relations, whatever its subtype."""
    arcs = zip(sentence.heads, sentence.deprels, strict=True)
    return [
        place
        for place, (of, relation) in enumerate(arcs)
        if of == head + 1 and relation.split(":")[0] in relations
    ]


def subject_number(sentence: ParsedSentence) -> Marked | None:
    """Returns the number of the root's subject noun; None for pronouns and clauses."""
    return _number_of(sentence, "nsubj")


def object_number(sentence: ParsedSentence) -> Marked | None:
    """Returns the number of the root's direct object noun; None for pronouns and clauses."""
    return _number_of(sentence, "obj")


def _number_of(sentence: ParsedSentence, relation: str) -> Marked | None:
    arguments = _children(sentence, sentence.heads.index(0), (relation,))
    if len(arguments) != 1:
        return None
    label = NUMBERS.get(sentence.tags[arguments[0]])
    return Marked(label, sentence.tokens[arguments[0]].lower()) if label else None


OTHER = "other"
MAX_WORD_SHARE = 0.02
"""Word content takes words that occur in at most this share of the sentences: no function words
(published: frequency ranks 2,000 to 3,000)."""
SHORTEST_CONTENT_WORD = 3
LENGTH_TRIM = 0.2
"""Tree depth leaves out this share of the shortest and of the longest sentences, whose depths
hardly vary apart from their lengths."""
MIN_DEPTH_SHARE = 0.06
"""Tree depth leaves out the depths that fewer sentences have (published: 7 depths, 5 to 11)."""
NUM_CELL_LENGTHS = 8
"""Length bins within which tree depth is thinned."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that a task can use, or a passage by its first one, labelled."""

    sentence: ParsedSentence
    label: str
    word: str = ""
    """The word that bears the label, for tasks whose splits share no such word."""
    further: tuple[ParsedSentence, ...] = ()
    """The other sentences of a passage."""

    @property
    def sentences(self) -> tuple[ParsedSentence, ...]:
        """All sentences of the item."""
        return (self.sentence, *self.further)

    @property
    def text(self) -> str:
        """What makes two items the same text."""
        return text_key([token for sentence in self.sentences for token in sentence.tokens])


def quantile_bins(values: Sequence[int], num_bins: int) -> list[int]:
    """Returns the upper edges (exclusive) that cut sorted integers into bins of like size.

    Fewer edges than ``num_bins - 1`` come back where one value fills more than a bin.
    """
    ordered = sorted(values)
    cuts = (ordered[len(ordered) * k // num_bins] for k in range(1, num_bins)) if ordered else ()
    return sorted({cut for cut in cuts if cut > ordered[0]})


def by_rule(
    rule: Callable[[ParsedSentence], Marked | None],
) -> Callable[[Sequence[ParsedSentence], ProbingConfig], list[Candidate]]:
    """Returns a task's candidates function for a rule that labels one sentence at a time."""

    def candidates(sentences: Sequence[ParsedSentence], config: ProbingConfig) -> list[Candidate]:
        marked = [(sentence, rule(sentence)) for sentence in sentences]
        return [Candidate(sentence, m.label, m.word) for sentence, m in marked if m is not None]

    return candidates


def length_bins(sentences: Sequence[ParsedSentence], config: ProbingConfig) -> list[Candidate]:
    """Labels sentences by the quantile bin of their number of tokens."""
    lengths = [len(sentence.tokens) for sentence in sentences]
    edges = quantile_bins(lengths, config.num_length_bins)
    if not edges:
        return []
    bounds = [min(lengths), *edges, max(lengths) + 1]
    names = [f"{low:02d}-{high - 1:02d}" for low, high in pairwise(bounds)]
    return [
        Candidate(sentence, names[bisect_right(edges, length)])
        for sentence, length in zip(sentences, lengths, strict=True)
    ]


def word_content(sentences: Sequence[ParsedSentence], config: ProbingConfig) -> list[Candidate]:
    """Labels the sentences that contain exactly one word of a set of mid-frequency words.

    The set is the most frequent words below the function words, as many as have enough sentences
    for every split.
    """
    bags = [{token.lower() for token in sentence.tokens} for sentence in sentences]
    counts = Counter(word for bag in bags for word in bag if _is_content_word(word))
    needed = config.sentences_of_a_class
    band = [word for word, n in counts.items() if needed <= n <= MAX_WORD_SHARE * len(sentences)]
    words = set(sorted(band, key=lambda word: (-counts[word], word))[: config.num_words])
    hits = [(sentence, bag & words) for sentence, bag in zip(sentences, bags, strict=True)]
    return [Candidate(sentence, min(words)) for sentence, words in hits if len(words) == 1]


def _is_content_word(word: str) -> bool:
    return len(word) >= SHORTEST_CONTENT_WORD and word.isalpha()


def common_top_constituents(
    sentences: Sequence[ParsedSentence], config: ProbingConfig
) -> list[Candidate]:
    """Labels sentences by their top constituents: the most common sequences, and all others."""
    sequences = [(s, top_constituents(s)) for s in sentences]
    labelled = [(sentence, sequence) for sentence, sequence in sequences if sequence is not None]
    counts = Counter(sequence for _, sequence in labelled)
    ranked = sorted(counts, key=lambda sequence: (-counts[sequence], sequence))
    most = ranked[: config.num_top_constituents - 1]
    common = {sequence for sequence in most if counts[sequence] >= config.sentences_of_a_class}
    return [
        Candidate(sentence, label if label in common else OTHER) for sentence, label in labelled
    ]


def tree_depths(sentences: Sequence[ParsedSentence], config: ProbingConfig) -> list[Candidate]:
    """Labels sentences by tree depth, thinned until depth says little about length.

    A cell of depth d and length bin l keeps at most ``s * N * p(d) * p(l)`` sentences, with p the
    marginals of all N: the product in which both are independent. The largest s is taken whose
    correlation is low enough, or the smallest that leaves enough sentences.
    """
    lengths = sorted(len(sentence.tokens) for sentence in sentences)
    trimmed = math.floor(LENGTH_TRIM * len(lengths))
    shortest, longest = (lengths[trimmed], lengths[-1 - trimmed]) if lengths else (0, 0)
    middle = [s for s in sentences if shortest <= len(s.tokens) <= longest]
    depths = [tree_depth(sentence) for sentence in middle]
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
        of_kept = [float(len(sentence.tokens)) for sentence, _ in kept]
        correlation = pearson([float(depth) for _, depth in kept], of_kept)
        if abs(correlation) <= config.max_depth_length_correlation:
            break
    return [Candidate(sentence, f"{depth:02d}") for sentence, depth in kept]


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
    drawn = sorted(pool, key=lambda item: stable_number(config.seed, "thin", item[0].row))
    for sentence, depth in drawn:
        if room[cell_of[sentence.row]] > 0:
            room[cell_of[sentence.row]] -= 1
            kept.append((sentence, depth))
    return sorted(kept, key=lambda item: item[0].row)


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Returns Pearson's correlation of two equally long series; 0 where either is constant."""
    mean_x, mean_y = math.fsum(xs) / max(len(xs), 1), math.fsum(ys) / max(len(ys), 1)
    covariance = math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    spread_x = math.fsum((x - mean_x) ** 2 for x in xs)
    spread_y = math.fsum((y - mean_y) ** 2 for y in ys)
    product = spread_x * spread_y
    return covariance / math.sqrt(product) if product > 0 else 0.0
