"""A trained vocabulary expanded: a linear map from pretrained vectors to trained ones.

Kiros et al. 2015, section 2.2 (and after them Logeswaran & Lee 2018 and Simoulin & Crabbé 2021):
over the words that both have, W is fitted by least squares to v' = W v, and every other word of the
pretrained vectors gets W v for its trained vector.

Differs from the formula in Kiros et al. in an intercept, v' = W v + b, as the code that they
published fits it: neither table has mean 0, and the map without b is one of those with it.

Legend: n shared words, V trained ones, N of both together, E dimensions of pretrained vectors, F of
trained ones, the tables of several views side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treeviews.models.words.word_vectors import WordVectors
from treeviews.pipeline.base.settings import Count, Natural, Settings, at_least
from treeviews.pipeline.shards.arrow import numbers, strings
from treeviews.pipeline.vectors.word_lists import NOWHERE, WordIndex

EXPANSION_VERSION = 1
"""Raised when the same model and vectors would be expanded to another one."""
HELD_OUT = 0.1
"""Share of the shared words that the quality of the map is measured on, by a map without them."""
BLOCK_ROWS = 8_192
"""Vectors in memory at once."""

Table = NDArray[np.float32]
Rows = NDArray[np.int64]


class ExpansionConfig(Settings):
    """How a vocabulary is expanded."""

    called: ClassVar[str] = "expansion setting"

    ridge: Annotated[float, at_least(0)] = 0.0
    """λ of the penalty λ ‖W‖² on the map without its intercept. Kiros et al. and A: 0."""
    intercept: bool = True
    """Fit an intercept; the formula of Kiros et al. has none."""
    max_words: Count = 2_000_000
    """Number of words in the result: the trained ones, then the first of the pretrained file. A,
    section Experiments: 2M."""
    seed: Natural = 0
    """Seed for the held-out words and the shuffled pairs of the control."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainedWords:
    """The words of a model, the unknown one not among them."""

    words: Sequence[str]
    """Length V."""
    table: Table
    """[V, F]; what the model reads for each."""
    is_trained: NDArray[np.bool_]
    """[V]; a word that training never met stands where it started and is treated like others."""
    num_tables: int = 1
    """Tables of views side by side, each as wide as the others."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearMap:
    """v' = W v + b."""

    weights: NDArray[np.float64]
    """[E, F]."""
    intercept: NDArray[np.float64]
    """[F]; zeros where there is none."""

    def __call__(self, rows: NDArray[np.floating[Any]]) -> Table:
        """Returns the images of vectors [m, E], float32 [m, F]."""
        return (rows.astype(np.float64) @ self.weights + self.intercept).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Shared words: ids of pretrained vectors, and the trained vectors that they map to."""

    source: WordVectors
    """The pretrained vectors; may be mapped from a file."""
    rows: Rows
    """[n]; their ids."""
    targets: Table
    """[n, F]."""

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: Rows) -> _Pairs:
        return _Pairs(self.source, self.rows[chosen], self.targets[chosen])

    def blocks(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        for start in range(0, len(self), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            sources = self.source.rows(self.rows[part]).astype(np.float64)
            yield sources, self.targets[part].astype(np.float64)


def fit_map(pairs: _Pairs, config: ExpansionConfig) -> LinearMap:
    """Returns the map of least squares; of several the shortest.

    The pairs are read in blocks, of which a triangular factor is kept (QR): the solution has the
    precision of one over all of them at once, which that by the normal equations has not.
    """
    width = pairs.source.size
    factor: NDArray[np.float64] | None = None
    for sources, targets in pairs.blocks():
        ones = [np.ones((len(sources), 1))] if config.intercept else []
        block = np.hstack([sources, *ones, targets])
        stacked = block if factor is None else np.vstack([factor, block])
        triangle: Any = np.linalg.qr(stacked, mode="r")  # whose stub knows no such mode
        factor = triangle
    assert factor is not None, "there are pairs"
    known = width + config.intercept
    left, right = factor[:, :known], factor[:, known:]
    if config.ridge:
        left = np.vstack([left, np.sqrt(config.ridge) * np.eye(width, known)])
        right = np.vstack([right, np.zeros((width, right.shape[1]))])
    solution: NDArray[np.float64] = np.linalg.lstsq(left, right, rcond=None)[0].astype(np.float64)
    intercept = solution[width] if config.intercept else np.zeros(solution.shape[1])
    return LinearMap(solution[:width], intercept)


def measure_fit(map_: LinearMap, pairs: _Pairs, num_tables: int = 1) -> list[dict[str, float]]:
    """Returns how near a map comes to the targets of pairs that it was not fitted to, by table.

    ``r2`` is 1 - the sum of squared errors / that of the distances from the mean, over all
    components; ``cosine`` the mean over the words, 0 of a vector of zeros.
    """
    errors, cosines = np.zeros(num_tables), np.zeros(num_tables)
    for sources, targets in pairs.blocks():
        images = np.split(map_(sources).astype(np.float64), num_tables, axis=1)
        for place, theirs in enumerate(np.split(targets, num_tables, axis=1)):
            ours = images[place]
            errors[place] += np.square(ours - theirs).sum()
            lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
            dots = np.einsum("ij,ij->i", ours, theirs)
            cosines[place] += (dots / np.where(lengths > 0, lengths, 1)).sum()
    spread = np.square(pairs.targets - pairs.targets.mean(axis=0, dtype=np.float64))
    totals = [part.sum(dtype=np.float64) for part in np.split(spread, num_tables, axis=1)]
    return [
        {
            "r2": round(float(1 - error / total) if total else 0.0, 4),
            "cosine": round(float(cosine / len(pairs)), 4),
        }
        for error, total, cosine in zip(errors, totals, cosines, strict=True)
    ]


def match_words(trained: Sequence[str], pretrained: WordVectors) -> tuple[Rows, pa.Array, Rows]:
    """Returns which vectors belong to trained words, and which words are further ones.

    A model whose words have no capitals finds a token by its small letters, so the pretrained words
    are taken in small letters, too; of several that are then one, that which is written so counts,
    else the first. Words of a model with capitals are taken as they stand. Memory: some 100 bytes a
    pretrained word, as none becomes a Python object.

    Returns:
        ids [V] of the trained words' pretrained vectors, -1 where one has none; the further words,
        ``large_string``, in the file's order and the model's form; ids of these.
    """
    given, spelled = strings(trained), pretrained.index
    is_cased = not given.equals(pc.utf8_lower(given))
    forms = spelled if is_cased else WordIndex(pc.utf8_lower(spelled.words))
    first = forms.places(forms.words)
    written_so = first if is_cased else spelled.places(forms.words)
    row_of = np.where(written_so == NOWHERE, first, written_so).astype(np.int64) + 1
    own = forms.places(given)
    is_other = first == np.arange(len(first))
    for places in (own, forms.places(strings([""]))):  # no token is empty
        is_other[places[places != NOWHERE]] = False
    others = np.flatnonzero(is_other)
    rows_of_own = np.append(row_of, -1)[own]  # `NOWHERE` is the last
    return rows_of_own, forms.words.take(numbers(others)), row_of[others]


@dataclass(frozen=True, slots=True, eq=False)
class Expansion:
    """A fitted expansion, of which no vector is computed yet."""

    words: pa.Array
    """``large_string`` [N]: the trained model's in their order, then the further ones."""
    trained: TrainedWords
    map_: LinearMap
    pretrained: WordVectors
    rows: Rows
    """[N]; ids of the pretrained words that are mapped, -1 for one that keeps its vector."""
    facts: dict[str, Any]
    """Counts, settings and the quality of the map, as JSON has them."""

    def blocks(self) -> Iterator[Table]:
        """Yields the vectors of the words, [m, F] each, in their order."""
        num_own = len(self.trained.words)
        for start in range(0, len(self.words), BLOCK_ROWS):
            rows = self.rows[start : start + BLOCK_ROWS]
            block = np.empty((len(rows), self.trained.table.shape[1]), dtype=np.float32)
            kept = self.trained.table[start : min(start + BLOCK_ROWS, num_own)]
            block[: len(kept)] = kept
            is_mapped = rows >= 0
            if is_mapped.any():
                block[is_mapped] = self.map_(self.pretrained.rows(rows[is_mapped]))
            yield block


def fit_expansion(
    trained: TrainedWords,
    pretrained: WordVectors,
    config: ExpansionConfig,
    on_progress: Callable[[float, str], None] = lambda share, status: None,
) -> Expansion:
    """Fits the map and measures it.

    Trained words keep their vectors. Words that the model has and training never met, and all
    further words of the pretrained file up to the limit, are mapped.

    Raises:
        ValueError: too few words are shared, or there is nothing to add.
    """
    on_progress(0.0, "matching words")
    own, others, rows_of_others = match_words(trained.words, pretrained)
    shared = np.flatnonzero((own >= 0) & trained.is_trained)
    num_others = max(0, min(len(others), config.max_words - len(trained.words)))
    mapped = np.where(trained.is_trained, -1, own)
    if not num_others and not (mapped >= 0).any():
        raise ValueError(
            f"nothing to add to the model's {len(trained.words):,} words: the pretrained vectors "
            f"have {len(others):,} others and max_words is {config.max_words:,}; give "
            "vectors of more words, or more of them"
        )
    pairs = _Pairs(pretrained, own[shared], trained.table[shared])
    held_out = max(1, round(len(pairs) * HELD_OUT))
    needed = 2 if config.ridge else pretrained.size + config.intercept
    if len(pairs) - held_out < needed:
        raise ValueError(
            f"{len(pairs):,} trained words have a pretrained vector, {held_out:,} of which are "
            f"held out; a map from {pretrained.size} dimensions needs {needed:,} others: give "
            "vectors of the same words (capitals count where the model has any), or a ridge above 0"
        )
    on_progress(0.1, f"fitting to {len(pairs):,} shared words")
    facts = {
        "config": config.to_dict(),
        "words": {
            "trained": int(trained.is_trained.sum()),
            "never_met_in_training": int((~trained.is_trained).sum()),
            "shared": len(pairs),
            "mapped": num_others + int((mapped >= 0).sum()),
            "left_out": len(others) - num_others,
            "all": len(trained.words) + num_others,
        },
        "held_out": _quality(pairs, held_out, config, trained.num_tables),
    }
    words = pa.concat_arrays([strings(trained.words), others[:num_others]])
    rows = np.concatenate([mapped, rows_of_others[:num_others]])
    map_ = fit_map(pairs, config)
    return Expansion(words, trained, map_, pretrained, rows, facts)


def _quality(
    pairs: _Pairs, num_held_out: int, config: ExpansionConfig, num_tables: int
) -> dict[str, Any]:
    """Returns how well words are mapped that a map has not seen, beside two controls.

    These are the mean of the trained vectors for every word, and a map that was fitted to the same
    vectors in pairs that do not belong together.
    """
    random = np.random.default_rng(config.seed)
    order = random.permutation(len(pairs))
    unseen, seen = pairs.take(order[:num_held_out]), pairs.take(order[num_held_out:])
    shuffled = _Pairs(seen.source, seen.rows, seen.targets[random.permutation(len(seen))])
    size = pairs.source.size
    middle = seen.targets.mean(axis=0, dtype=np.float64)
    maps = {
        "map": fit_map(seen, config),
        "mean_embedding": LinearMap(np.zeros((size, len(middle))), middle),
        "shuffled_pairs": fit_map(shuffled, config),
    }
    fits = {name: measure_fit(map_, unseen, num_tables) for name, map_ in maps.items()}
    return {"words": num_held_out, **fits}
