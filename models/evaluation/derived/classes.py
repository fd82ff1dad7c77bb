"""From sentences to labelled candidates: how the classes of each probing task form."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from models.evaluation.derived import label_rules
from models.evaluation.derived.candidates import Candidate, intact_of, quantile_bins
from models.evaluation.derived.held_out.config import ProbingConfig
from models.evaluation.derived.label_rules import Marked
from models.evaluation.derived.sentences import ParsedSentence
from models.evaluation.derived.splits import sentences_of_a_class

OTHER = "other"
MAX_WORD_SHARE = 0.02
"""Word content takes words that occur in at most this share of the sentences: no function words
(published: frequency ranks 2,000 to 3,000)."""
SHORTEST_CONTENT_WORD = 3


def by_rule(
    rule: Callable[[ParsedSentence], Marked | None],
) -> Callable[[Sequence[ParsedSentence], ProbingConfig], list[Candidate]]:
    """Returns a task's candidates function for a rule that labels one sentence at a time."""

    def candidates(sentences: Sequence[ParsedSentence], config: ProbingConfig) -> list[Candidate]:
        marked = [(sentence, rule(sentence)) for sentence in intact_of(sentences)]
        return [Candidate(sentence, m.label, m.word) for sentence, m in marked if m is not None]

    return candidates


def length_bins(sentences: Sequence[ParsedSentence], config: ProbingConfig) -> list[Candidate]:
    """Labels sentences by the quantile bin of their number of tokens."""
    intact = intact_of(sentences)
    lengths = [len(sentence.tokens) for sentence in intact]
    edges = quantile_bins(lengths, config.num_length_bins)
    if not edges:
        return []
    bounds = [min(lengths), *edges, max(lengths) + 1]
    names = [f"{low:02d}-{high - 1:02d}" for low, high in pairwise(bounds)]
    return [
        Candidate(sentence, names[bisect_right(edges, length)])
        for sentence, length in zip(intact, lengths, strict=True)
    ]


def word_content(sentences: Sequence[ParsedSentence], config: ProbingConfig) -> list[Candidate]:
    """Labels the sentences that contain exactly one word of a set of mid-frequency words.

    The set is the most frequent words below the function words, as many as have enough sentences
    for every split.
    """
    intact = intact_of(sentences)
    bags = [{token.lower() for token in sentence.tokens} for sentence in intact]
    counts = Counter(word for bag in bags for word in bag if _is_content_word(word))
    needed = sentences_of_a_class(config)
    band = [word for word, n in counts.items() if needed <= n <= MAX_WORD_SHARE * len(intact)]
    words = set(sorted(band, key=lambda word: (-counts[word], word))[: config.num_words])
    found = [(sentence, bag & words) for sentence, bag in zip(intact, bags, strict=True)]
    return [Candidate(sentence, min(hits)) for sentence, hits in found if len(hits) == 1]


def _is_content_word(word: str) -> bool:
    return len(word) >= SHORTEST_CONTENT_WORD and word.isalpha()


def common_top_constituents(
    sentences: Sequence[ParsedSentence], config: ProbingConfig
) -> list[Candidate]:
    """Labels sentences by their top constituents: the most common sequences, and all others."""
    sequences = [(s, label_rules.top_constituents(s)) for s in intact_of(sentences)]
    labelled = [(sentence, sequence) for sentence, sequence in sequences if sequence is not None]
    counts = Counter(sequence for _, sequence in labelled)
    needed = sentences_of_a_class(config)
    ranked = sorted(counts, key=lambda sequence: (-counts[sequence], sequence))
    common = {
        sequence
        for sequence in ranked[: config.num_top_constituents - 1]
        if counts[sequence] >= needed
    }
    return [
        Candidate(sentence, sequence if sequence in common else OTHER)
        for sentence, sequence in labelled
    ]


def by_alteration(
    kind: str, label: str
) -> Callable[[Sequence[ParsedSentence], ProbingConfig], list[Candidate]]:
    """Returns a task's candidates function for one kind of altered sentences.

    A text appears intact or altered, never as both; those that could not be altered are left out,
    so the two classes differ in nothing else.

    Args:
        kind: one of ``alterations``.
        label: class of the altered sentences; the others are ``intact``.
    """

    def candidates(sentences: Sequence[ParsedSentence], config: ProbingConfig) -> list[Candidate]:
        intact = [Candidate(s, "intact") for s in sentences if kind in s.intact_in]
        return intact + [Candidate(s, label) for s in sentences if s.alteration == kind]

    return candidates
