"""The rows of the probing table, declared: each an encoder and how it is represented."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from models.encoding.encoder_names import BAG_OF_WORDS

TRAINED = "trained"
RANDOM_SEEDS = (0, 1, 2)

_PLACES = ("first", "second", "third")

PAIR_ROW = "pair"
MAJORITY_ROW = "majority_class"
"""The one row that is no encoder; the report makes it of the classes' counts."""
PROJECTED_ROW = "bag_of_words_projected"
PAIR_AND_WORDS_ROW = "pair_and_bag_of_words"
RANDOM_AND_WORDS_ROW = "random_and_bag_of_words"


@dataclass(frozen=True, slots=True)
class RowDeclaration:
    """One row of the probing table."""

    name: str
    description: str
    encoder: str
    """As ``EvaluateEncoder`` takes it."""
    representation: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ``Representation`` that differ from the plain one."""


def random_row(seed: int) -> str:
    """Returns the name of the row of an untrained encoder."""
    return f"random_weights_{seed}"


def is_random_row(name: str) -> bool:
    """Returns whether a row is an untrained encoder, of whichever seed, by itself."""
    return name.startswith(random_row(0)[:-1])


def is_trained_row(name: str) -> bool:
    """Returns whether a row is a trained pair, of whichever seed, by itself."""
    return name == PAIR_ROW or name.startswith(f"{PAIR_ROW}_seed_")


def declare_rows(
    views: Sequence[str],
    random_seeds: Sequence[int] = RANDOM_SEEDS,
    trained_seeds: Sequence[int] = (0,),
    *,
    embedding_width: int,
) -> tuple[RowDeclaration, ...]:
    """Returns the rows that stand beside trained views, in the table's order.

    Args:
        views: those of the finished model, as in ("DEP", "CONST").
        random_seeds: one row each for the same architecture with random weights.
        trained_seeds: one row each for a pair trained with that seed; the first one's views are
            also scored alone and joined with the words.
        embedding_width: width to which the bag of words is projected; its row needs no trained
            model.

    Raises:
        ValueError: no seed of training, or one given twice.
    """
    if not trained_seeds or any(len({*s}) < len(s) for s in (trained_seeds, random_seeds)):
        raise ValueError(
            f"seeds must differ and one of training be given, got trained_seeds "
            f"{list(trained_seeds)} and random_seeds {list(random_seeds)}"
        )
    joined = ",".join(views)
    words, beside = "mean of the same word vectors", "joined with the mean of the word vectors"
    return (
        *_trained_rows(joined, trained_seeds),
        *_view_rows(views),
        *(
            RowDeclaration(random_row(seed), _untrained(joined, seed), f"random-{seed}")
            for seed in random_seeds
        ),
        RowDeclaration(BAG_OF_WORDS, words, BAG_OF_WORDS),
        RowDeclaration(
            PROJECTED_ROW,
            f"{words}, randomly projected to {embedding_width} dimensions",
            BAG_OF_WORDS,
            {"project_to_width": embedding_width},
        ),
        RowDeclaration(
            PAIR_AND_WORDS_ROW, f"{joined}, trained, {beside}", TRAINED, {"join_words": True}
        ),
        *(
            RowDeclaration(
                RANDOM_AND_WORDS_ROW,
                f"{_untrained(joined, seed)}, {beside}",
                f"random-{seed}",
                {"join_words": True},
            )
            for seed in random_seeds[:1]
        ),
    )


def _untrained(joined: str, seed: int) -> str:
    return f"{joined}, random weights, seed {seed}"


def _trained_rows(joined: str, seeds: Sequence[int]) -> Iterator[RowDeclaration]:
    for seed in seeds:
        which = "" if len(seeds) == 1 else f", seed {seed}"
        is_first = seed == seeds[0]
        yield RowDeclaration(
            PAIR_ROW if is_first else f"{PAIR_ROW}_seed_{seed}",
            f"{joined}, trained{which}",
            TRAINED if is_first else f"{TRAINED}-{seed}",
        )


def _view_rows(views: Sequence[str]) -> Iterator[RowDeclaration]:
    """Yields each view by itself; equal ones are told apart by their place.

    A single view has that row already.
    """
    for number, view in enumerate(views if len(views) > 1 else ()):
        alone = f"{view} alone"
        if len(set(views)) < len(views):
            alone = f"{_PLACES[number]} view ({view}) alone"
        name = f"{number}-{view}"
        yield RowDeclaration(f"view_{name}", f"{alone}, trained", TRAINED, {"views": [name]})
