"""Odd word out: a noun or verb replaced by another one that fits its neighbours as well.

Two sentences exchange a noun or verb of the same tag. Pairs are made first and a hash says
afterwards whether a pair exchanges its words or stays as it is. So both classes have the same
words equally often, the same tags, neighbours and frequencies: only what the rest of the sentence
says can tell them apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from models.evaluation.derived.held_out.config import ProbingConfig, stable_number, text_key
from models.evaluation.derived.held_out.held_out_rows import SourceSentence, SourceText
from models.evaluation.derived.held_out.shift_and_inversion import (
    DUPLICATE_TEXT,
    KEPT_INTACT,
    OUTSIDE_LIMITS,
    Halves,
)
from pipeline.shards.shards import read_shard

TAGS = frozenset({"NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ"})
"""Nouns and verbs; proper nouns are known by their capitals and left out."""
AUXILIARIES = frozenset(
    ("am", "is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "having", "do",
     "does", "did", "done", "doing")
)  # fmt: skip
SHORTEST_WORD = 3
NUM_TRIED = 512
"""Words of the same tag that a word is compared with before its sentence tries another word."""

IntArray = npt.NDArray[np.int64]


def replace_words(text: SourceText, config: ProbingConfig) -> Halves:
    """Replaces a noun or verb in half of the sentences that can exchange one.

    Differs from Conneau et al. 2018 in where the replacement comes from: another sentence that
    takes the replaced word in return.
    """
    halves = Halves()
    usable = list(_usable(text.sentences, config, halves))
    targets = _targets(usable, config.seed)
    free = {target.sentence for target in targets}
    halves.not_selected["no_noun_or_verb_to_replace"] += len(usable) - len(free)
    texts = {text_key(sentence.tokens) for sentence in text.sentences}
    for one, other in _pairs(targets, usable, texts, _neighbourhoods(targets, text)):
        free -= {one.sentence, other.sentence}
        if _is_exchanged(usable[one.sentence], usable[other.sentence], config.seed):
            for target, source in ((one, other), (other, one)):
                sentence = usable[target.sentence]
                halves.altered[sentence.row.dataset_row] = _replaced(sentence, target, source.word)
        else:
            halves.intact += [usable[t.sentence].row.dataset_row for t in (one, other)]
            halves.not_selected[KEPT_INTACT] += 2
    halves.not_selected["no_comparable_word"] += len(free)
    return halves


@dataclass(frozen=True, slots=True)
class Target:
    """A word that may be replaced."""

    sentence: int
    """Index into the usable sentences."""
    position: int
    tag: str
    left: str
    """The word before, in lower case."""
    word: str
    right: str


def _usable(
    sentences: Sequence[SourceSentence], config: ProbingConfig, halves: Halves
) -> Iterator[SourceSentence]:
    seen: set[str] = set()
    for sentence in sentences:
        key = text_key(sentence.tokens)
        if not config.takes_length(len(sentence.tokens)):
            halves.not_selected[OUTSIDE_LIMITS] += 1
        elif not sentence.tags:
            halves.not_selected["no_parse"] += 1
        elif key in seen:
            halves.not_selected[DUPLICATE_TEXT] += 1
        else:
            seen.add(key)
            yield sentence


def target_positions(tokens: Sequence[str], tags: Sequence[str]) -> list[int]:
    """Returns the positions of nouns and verbs that may be replaced.

    They have a neighbour on both sides, are written in lower case, and are no auxiliaries.
    """
    return [
        i
        for i in range(1, len(tokens) - 1)
        if tags[i] in TAGS
        and len(tokens[i]) >= SHORTEST_WORD
        and tokens[i].isalpha()
        and tokens[i].islower()
        and tokens[i] not in AUXILIARIES
    ]


def _targets(sentences: Sequence[SourceSentence], seed: int) -> list[Target]:
    """Returns all words that may be replaced, in seeded order."""
    keyed: list[tuple[int, Target]] = []
    for number, sentence in enumerate(sentences):
        lowered = [token.lower() for token in sentence.tokens]
        for i in target_positions(sentence.tokens, sentence.tags):
            words = (lowered[i - 1], lowered[i], lowered[i + 1])
            place = stable_number(seed, "odd_word_target", i, " ".join(lowered))
            keyed.append((place, Target(number, i, sentence.tags[i], *words)))
    return [target for _, target in sorted(keyed, key=lambda item: item[0])]


def _neighbourhoods(targets: Sequence[Target], text: SourceText) -> _Neighbourhoods:
    words = sorted({word for t in targets for word in (t.left, t.word, t.right)})
    last = max((sentence.row.shard for sentence in text.sentences), default=-1)
    return _Neighbourhoods(targets, words, count_bigrams(text.folder, words, num_shards=last + 1))


class _Neighbourhoods:
    """The targets as arrays of numbers, and which of them fit each other's neighbours."""

    def __init__(
        self, targets: Sequence[Target], words: Sequence[str], bigrams: BigramCounts
    ) -> None:
        numbers = {word: number for number, word in enumerate(words)}
        self.sentence: IntArray = np.array([t.sentence for t in targets], dtype=np.int64)
        self._word = np.array([numbers[t.word] for t in targets], dtype=np.int64)
        left = np.array([numbers[t.left] for t in targets], dtype=np.int64)
        right = np.array([numbers[t.right] for t in targets], dtype=np.int64)
        # Each count leaves out the place itself: what stands there is the question.
        self._sides = tuple(
            _Side(count, neighbours, _magnitude(count(neighbours, self._word) - 1))
            for count, neighbours in (
                (bigrams.of, left),
                (lambda after, word: bigrams.of(word, after), right),
            )
        )

    def are_comparable(self, one: int, others: IntArray) -> npt.NDArray[np.bool_]:
        """Returns which of other targets could exchange their word with one of them, [n].

        The words must differ, and each must stand beside the other's neighbours about as often
        as the word that is there: in the rest of the corpus, both counts plus one lie between the
        same powers of two.
        """
        fits: npt.NDArray[np.bool_] = self._word[others] != self._word[one]
        for side in self._sides:
            beside_one, beside_others = side.neighbours[one], side.neighbours[others]
            # Beside equal neighbours, the places themselves are among what was counted.
            same = beside_one == beside_others
            given = side.count(beside_one, self._word[others]) - same
            taken = side.count(beside_others, self._word[one]) - same
            fits &= _magnitude(given) == side.magnitudes[one]
            fits &= _magnitude(taken) == side.magnitudes[others]
        return fits


@dataclass(frozen=True, slots=True)
class _Side:
    """What stands before the targets, or after them."""

    count: Callable[[IntArray, IntArray], IntArray]
    """From numbers of neighbours and of words to how often the words have them at this side."""
    neighbours: IntArray
    """[n]; number of each target's neighbour."""
    magnitudes: IntArray
    """[n]; of how often each target's word has this neighbour elsewhere."""


def _magnitude(counts: IntArray) -> IntArray:
    magnitudes: IntArray = np.log2(counts + 1.0).astype(np.int64)
    return magnitudes


def _pairs(
    targets: Sequence[Target],
    sentences: Sequence[SourceSentence],
    texts: set[str],
    near: _Neighbourhoods,
) -> Iterator[tuple[Target, Target]]:
    """Yields targets that may exchange their words; no sentence is in two pairs."""
    by_tag: dict[str, list[int]] = defaultdict(list)
    places: list[int] = []
    for number, target in enumerate(targets):
        places.append(len(by_tag[target.tag]))
        by_tag[target.tag].append(number)
    of_tag = {tag: np.array(numbers) for tag, numbers in by_tag.items()}
    free = np.ones(len(sentences), dtype=np.bool_)
    for number, target in enumerate(targets):
        if not free[target.sentence]:
            continue
        first = places[number] + 1
        others = of_tag[target.tag][first : first + NUM_TRIED]
        others = others[free[near.sentence[others]]]
        for found in others[near.are_comparable(number, others)].tolist():
            if _may_exchange(target, targets[found], sentences, texts):
                free[[target.sentence, targets[found].sentence]] = False
                yield target, targets[found]
                break


def _may_exchange(
    one: Target, other: Target, sentences: Sequence[SourceSentence], texts: set[str]
) -> bool:
    """Returns whether nothing but the sense of the sentences would give the exchange away."""
    if one.sentence == other.sentence:
        return False
    for target, source in ((one, other), (other, one)):
        sentence = sentences[target.sentence]
        if target.left in ("a", "an") and _opens_with_vowel(target) != _opens_with_vowel(source):
            return False
        key = text_key(sentence.tokens)
        if source.word in key.split(" ") or text_key(_replaced(sentence, target, source.word)) in (
            texts
        ):
            return False
    return True


def _opens_with_vowel(target: Target) -> bool:
    return target.word[0] in "aeiou"


def _replaced(sentence: SourceSentence, target: Target, word: str) -> tuple[str, ...]:
    return (*sentence.tokens[: target.position], word, *sentence.tokens[target.position + 1 :])


def _is_exchanged(one: SourceSentence, other: SourceSentence, seed: int) -> bool:
    keys = sorted((text_key(one.tokens), text_key(other.tokens)))
    return stable_number(seed, "odd_word_out", *keys) % 2 == 0


class BigramCounts:
    """Counts of ordered pairs of words, whatever their case."""

    def __init__(self, keys: IntArray, counts: IntArray, num_words: int) -> None:
        """Takes sorted keys ``left * num_words + right`` [n] and the count of each [n]."""
        self._keys, self._counts, self._num_words = keys, counts, num_words

    def of(self, left: IntArray, right: IntArray) -> IntArray:
        """Returns the count of each pair, given by the words' numbers; broadcasts."""
        wanted = left * self._num_words + right
        if not len(self._keys):
            return np.zeros(wanted.shape, dtype=np.int64)
        place = np.searchsorted(self._keys, wanted).clip(max=len(self._keys) - 1)
        return np.where(self._keys[place] == wanted, self._counts[place], 0)


def count_bigrams(sentences: Path, words: Sequence[str], *, num_shards: int) -> BigramCounts:
    """Counts the pairs of these words in the first shards of a sentence stage.

    Args:
        words: distinct and in lower case; the index of a word is its number.

    Raises:
        FileNotFoundError: a shard is missing.
        ValueError: a shard is broken or of another schema version.
    """
    known = pa.array(words, pa.string())
    none: IntArray = np.zeros(0, dtype=np.int64)
    parts = [(none, none)]
    parts += [_pairs_of_shard(sentences, number, known) for number in range(num_shards)]
    keys = np.concatenate([keys for keys, _ in parts])
    counts = np.concatenate([counts for _, counts in parts])
    distinct, place = np.unique(keys, return_inverse=True)
    summed = np.bincount(place, weights=counts, minlength=len(distinct)).astype(np.int64)
    return BigramCounts(distinct, summed, len(words))


def _pairs_of_shard(sentences: Path, number: int, known: pa.Array) -> tuple[IntArray, IntArray]:
    column = read_shard(sentences, "sentences", number, ["tokens"])["tokens"]
    lengths = pc.list_value_length(column).to_numpy()
    lowered = pc.utf8_lower(pc.list_flatten(column).cast(pa.string()))
    ids = pc.index_in(lowered, value_set=known).fill_null(-1).to_numpy().astype(np.int64)
    is_last = np.zeros(len(ids), dtype=np.bool_)
    is_last[np.cumsum(lengths) - 1] = True
    left, right = ids[:-1], ids[1:]
    kept = (left >= 0) & (right >= 0) & ~is_last[:-1]
    keys, counts = np.unique(left[kept] * len(known) + right[kept], return_counts=True)
    return keys, counts
