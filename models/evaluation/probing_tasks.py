"""The derived tasks: from parsed sentences to labelled candidates, and which tasks there are.

A label is a pure function of a parsed sentence, or forms of many. The tags are Penn Treebank's, the
relations Universal Dependencies'. The classes of tree depth are thinned until depth says little
about sentence length.

Discourse coherence (Chen et al. 2019, section 3) asks for text alone. A passage is some successive
sentences of one document, or of one held-out block of it. Every sentence that enough others follow
begins one, so passages overlap; whole documents go to one split, so none does so across splits.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from treeviews.models.evaluation.probing_sentences import (
    ParsedSentence,
    ProbingConfig,
    stable_number,
    text_key,
)
from treeviews.models.evaluation.resampling import pearson
from treeviews.models.evaluation.task_registry import DECLARED

TENSES = {"VBD": "past", "VBP": "present", "VBZ": "present"}
NUMBERS = {"NN": "singular", "NNP": "singular", "NNS": "plural", "NNPS": "plural"}
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
COHERENT = 6
"""Sentences of a passage of discourse coherence; the first and the last are never replaced."""


class TooFewError(ValueError):
    """A corpus is too small for a derived task; says what there is too little of."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that a task can use, or a passage by its first one, labelled."""

    sentence: ParsedSentence
    label: str
    word: str = ""
    """The word that bears the label, lower-cased, for tasks whose splits share no such word."""
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


Candidates = Callable[[Sequence[ParsedSentence], ProbingConfig], list[Candidate]]
"""From the sentences that may be used to those that a task can use, labelled."""

# Labels of single words.


def by_tag(
    place_of: Callable[[ParsedSentence], int | None], labels: Mapping[str, str]
) -> Candidates:
    """Returns what labels sentences by the tag of one of their words, if that tag has a label."""

    def candidates(sentences: Sequence[ParsedSentence], config: ProbingConfig) -> list[Candidate]:
        places = ((sentence, place_of(sentence)) for sentence in sentences)
        return [
            Candidate(s, labels[s.tags[place]], s.tokens[place].lower())
            for s, place in places
            if place is not None and s.tags[place] in labels
        ]

    return candidates


def finite_verb(sentence: ParsedSentence) -> int:
    """Returns the place of the main clause's finite verb.

    It is the first auxiliary or copula of the root ("*was* called", "*is* a list"), and the root
    itself where it has none. Tags of modals, infinitives and imperatives bear no tense.
    """
    root = sentence.heads.index(0)
    return next(iter(_children(sentence, root, ("aux", "cop"))), root)


def argument(relation: str) -> Callable[[ParsedSentence], int | None]:
    """Returns what gives the place of the root's one argument of a relation, if there is one."""

    def place_of(sentence: ParsedSentence) -> int | None:
        places = _children(sentence, sentence.heads.index(0), (relation,))
        return places[0] if len(places) == 1 else None

    return place_of


def _children(sentence: ParsedSentence, head: int, relations: Sequence[str]) -> list[int]:
    """Returns the words that hang from a word by one of these relations, whatever its subtype."""
    arcs = zip(sentence.heads, sentence.deprels, strict=True)
    return [
        place
        for place, (of, relation) in enumerate(arcs)
        if of == head + 1 and relation.split(":")[0] in relations
    ]


# Labels of whole sentences.


def quantile_bins(values: Sequence[int], num_bins: int) -> list[int]:
    """Returns the upper edges (exclusive) that cut sorted integers into bins of like size.

    Fewer edges than ``num_bins - 1`` come back where one value fills more than a bin.
    """
    ordered = sorted(values)
    cuts = (ordered[len(ordered) * k // num_bins] for k in range(1, num_bins)) if ordered else ()
    return sorted({cut for cut in cuts if cut > ordered[0]})


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
    counts = Counter(
        word
        for bag in bags
        for word in bag
        if len(word) >= SHORTEST_CONTENT_WORD and word.isalpha()
    )
    needed = config.sentences_of_a_class
    band = [word for word, n in counts.items() if needed <= n <= MAX_WORD_SHARE * len(sentences)]
    words = set(sorted(band, key=lambda word: (-counts[word], word))[: config.num_words])
    hits = [(sentence, bag & words) for sentence, bag in zip(sentences, bags, strict=True)]
    return [Candidate(sentence, min(words)) for sentence, words in hits if len(words) == 1]


def top_constituents(sentence: ParsedSentence) -> str | None:
    """Returns the labels of the constituents right below the top S, as ``NP VP .``.

    Of a chain of unary constituents that is the highest; a word that hangs from S directly gives
    its part-of-speech tag. None where the top is no S.
    """
    top, *chain = sentence.span_labels[0].split("+")
    if top != "S":
        return None
    if chain:
        return chain[0]
    below: list[str] = []
    position = 0
    for start, end, label in sentence.spans[1:]:
        if start >= position:
            below += [*sentence.tags[position:start], label.split("+")[0]]
            position = end
    return " ".join([*below, *sentence.tags[position:]])


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


def tree_depth(sentence: ParsedSentence) -> int:
    """Returns the number of constituents on the longest path from the root to a word.

    Every label of a collapsed unary chain counts, so collapsing does not change the depth.
    """
    deepest = 0
    open_spans: list[tuple[int, int]] = []
    for start, end, label in sentence.spans:
        while open_spans and open_spans[-1][0] <= start:
            open_spans.pop()
        depth = (open_spans[-1][1] if open_spans else 0) + len(label.split("+"))
        deepest = max(deepest, depth)
        open_spans.append((end, depth))
    return deepest


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
        if len(thinned) < max(2, wanted):
            break
        kept = thinned
        correlation = pearson([depth for _, depth in kept], [len(s.tokens) for s, _ in kept])
        if abs(correlation) <= config.max_depth_length_correlation:
            break
    return [Candidate(sentence, f"{depth:02d}") for sentence, depth in kept]


def _thin(
    pool: Sequence[tuple[ParsedSentence, int]], scale: float, config: ProbingConfig
) -> list[tuple[ParsedSentence, int]]:
    edges = quantile_bins([len(sentence.tokens) for sentence, _ in pool], NUM_CELL_LENGTHS)
    cell_of = {s.row: (depth, bisect_right(edges, len(s.tokens))) for s, depth in pool}
    by_depth = Counter(depth for depth, _ in cell_of.values())
    by_length = Counter(length for _, length in cell_of.values())
    room = {
        (depth, length): math.floor(scale * by_depth[depth] * by_length[length] / len(pool))
        for depth, length in set(cell_of.values())
    }
    kept = []
    drawn = sorted(pool, key=lambda item: stable_number(config.seed, "thin", item[0].row))
    for sentence, depth in drawn:
        if room[cell_of[sentence.row]] > 0:
            room[cell_of[sentence.row]] -= 1
            kept.append((sentence, depth))
    return sorted(kept, key=lambda item: item[0].row)


# Passages.


def passages(
    sentences: Sequence[ParsedSentence], length: int
) -> Iterator[tuple[ParsedSentence, ...]]:
    """Yields all runs of so many successive sentences of one unit of text.

    Args:
        sentences: in the order of the corpus; what is left out of it breaks a run.
    """
    run: list[ParsedSentence] = []
    for sentence in sentences:
        follows = run and (sentence.document_id, sentence.unit, sentence.sentence_index) == (
            run[-1].document_id,
            run[-1].unit,
            run[-1].sentence_index + 1,
        )
        run = [*run[1 - length :], sentence] if follows else [sentence]
        if len(run) == length:
            yield tuple(run)


def by_coherence(sentences: Sequence[ParsedSentence], config: ProbingConfig) -> list[Candidate]:
    """Labels passages of six ``coherent`` or ``incoherent``: those that are to have an intruder."""
    labels = ("coherent", "incoherent")
    return [
        Candidate(passage[0], labels[_drawn(config, "coherence", passage) % 2], further=passage[1:])
        for passage in passages(sentences, COHERENT)
    ]


def with_intruders(
    candidates: Sequence[Candidate], split: str, config: ProbingConfig
) -> list[Candidate]:
    """Returns the passages of a split, a sentence of the incoherent ones replaced.

    The second, third, fourth or fifth gives way to a sentence of another document among these
    passages, so that an intruder is no stranger to its split and nobody's elsewhere.

    Raises:
        TooFewError: the passages are of one document.
    """
    pool = sorted(
        {s.row: s for candidate in candidates for s in candidate.sentences}.values(),
        key=lambda s: (s.document_id, s.row),
    )
    places: dict[str, list[int]] = defaultdict(list)
    for place, sentence in enumerate(pool):
        places[sentence.document_id].append(place)
    if len(places) < 2:
        raise TooFewError(f"the {split} items are of one document, and two are needed")

    def finished(candidate: Candidate) -> Candidate:
        if candidate.label == "coherent":
            return candidate
        own = places[candidate.sentence.document_id]
        drawn = _drawn(config, "intruder", candidate.sentences) % (len(pool) - len(own))
        further = list(candidate.further)
        place = _drawn(config, "replaced", candidate.sentences) % (COHERENT - 2)
        further[place] = pool[drawn if drawn < own[0] else drawn + len(own)]
        return replace(candidate, further=tuple(further))

    return [finished(candidate) for candidate in candidates]


def _drawn(config: ProbingConfig, what: str, passage: Sequence[ParsedSentence]) -> int:
    texts = (" ".join(sentence.tokens) for sentence in passage)
    return stable_number(config.seed, what, *texts)


# The tasks.

SplitBy = Literal["document", "whole_document", "target_word"]
"""``document``: sentences by themselves where documents are too few for three splits;
``whole_document``: never."""


@dataclass(frozen=True, slots=True)
class DerivedTask:
    """One derived task, as ``evaluation_sets.toml`` declares it beside the published one."""

    evaluation_task: str
    """Name of the published task that it corresponds to."""
    name: str
    label_rule: str
    """How a sentence gets its label, in words."""
    differs: str
    """How it differs from the published task; empty where it does not."""
    balance: Literal["equal", "even"] = "even"
    """``equal``: all classes cut to the rarest; ``even``: only the commonest are cut, to at most
    a fifth of a split, or one and a half equal shares where classes are few."""
    split_by: SplitBy = "document"
    any_length: bool = False
    """Whether sentences of any length are taken: a passage would break where one is left out."""


TASKS = tuple(
    DerivedTask(name, **entry["derived"])
    for name, entry in DECLARED["tasks"].items()
    if "derived" in entry
)
CANDIDATES: Mapping[str, Candidates] = {
    "sentence_length": length_bins,
    "word_content": word_content,
    "tree_depth": tree_depths,
    "top_constituents": common_top_constituents,
    "tense": by_tag(finite_verb, TENSES),
    "subject_number": by_tag(argument("nsubj"), NUMBERS),
    "object_number": by_tag(argument("obj"), NUMBERS),
    "discourse_coherence": by_coherence,
}
"""By the name of each derived task."""
