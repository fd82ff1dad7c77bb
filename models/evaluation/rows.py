"""The rows of the probing table, declared: which embeddings each needs and how they combine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EMBEDDING_VERSION = 1
"""Raised when the same weights and sentences would give other embeddings."""

TRAINED = "trained"
BAG_OF_WORDS = "bag_of_words"
BAG_OF_WORDS_FILE = "0-BOW"
RANDOM_SEEDS = (0, 1, 2)

_PLACES = ("first", "second", "third")

PAIR_ROW = "pair"
MAJORITY_ROW = "majority_class"
PROJECTED_ROW = "bag_of_words_projected"
PAIR_AND_WORDS_ROW = "pair_and_bag_of_words"
RANDOM_AND_WORDS_ROW = "random_and_bag_of_words"


@dataclass(frozen=True, slots=True)
class EmbeddingFile:
    """One view's embeddings of the probing sentences: a file of an embedding set's folder."""

    embedding_set: str
    """``trained``, ``trained-<seed>`` of a further seed, ``random-<seed>``, ``bag_of_words``."""
    name: str
    """``<position>-<view>``, as in ``0-DEP``."""


@dataclass(frozen=True, slots=True)
class RowDeclaration:
    """One row of the probing table."""

    name: str
    description: str
    embeddings: tuple[EmbeddingFile, ...] = ()
    """Joined side by side; none for the majority class."""
    project_to_width: int | None = None
    """Where given, the joined embeddings are projected at random to this width."""


def random_set(seed: int) -> str:
    """Returns the name of the embedding set of an untrained encoder."""
    return f"random-{seed}"


def random_row(seed: int) -> str:
    """Returns the name of the row of an untrained encoder."""
    return f"random_weights_{seed}"


def is_random_row(name: str) -> bool:
    """Returns whether a row is an untrained encoder, of whichever seed, by itself."""
    return name.startswith(random_row(0)[:-1])


def trained_set(seed: int, trained_seeds: Sequence[int]) -> str:
    """Returns the name of the embedding set of one of the trained encoders."""
    return TRAINED if seed == trained_seeds[0] else f"{TRAINED}-{seed}"


def trained_row(seed: int, trained_seeds: Sequence[int]) -> str:
    """Returns the name of the row of one of the trained pairs."""
    return PAIR_ROW if seed == trained_seeds[0] else f"{PAIR_ROW}_seed_{seed}"


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
            also probed alone and joined with the words.
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
    names = [f"{position}-{view}" for position, view in enumerate(views)]
    joined = ",".join(views)
    pair = tuple(EmbeddingFile(TRAINED, name) for name in names)
    words = (EmbeddingFile(BAG_OF_WORDS, BAG_OF_WORDS_FILE),)
    return (
        *_trained_rows(joined, names, trained_seeds),
        *(
            RowDeclaration(f"view_{name}", f"{alone}, trained", (part,))
            for name, alone, part in zip(names, _views_alone(views), pair, strict=True)
            if len(views) > 1  # a single view has that row already
        ),
        *_random_rows(joined, names, random_seeds),
        RowDeclaration(BAG_OF_WORDS, "mean of the same word vectors", words),
        RowDeclaration(
            PROJECTED_ROW,
            f"mean of the same word vectors, randomly projected to {embedding_width} dimensions",
            words,
            project_to_width=embedding_width,
        ),
        RowDeclaration(
            PAIR_AND_WORDS_ROW,
            f"{joined}, trained, joined with the mean of the word vectors",
            pair + words,
        ),
        *(
            RowDeclaration(
                RANDOM_AND_WORDS_ROW,
                f"{joined}, random weights, seed {seed}, joined with the mean of the word vectors",
                tuple(EmbeddingFile(random_set(seed), name) for name in names) + words,
            )
            for seed in random_seeds[:1]
        ),
        RowDeclaration(MAJORITY_ROW, "always the commonest class of the training split"),
    )


def _views_alone(views: Sequence[str]) -> list[str]:
    """Returns what each view is called by itself; equal ones are told apart by their place."""
    if len(set(views)) == len(views):
        return [f"{view} alone" for view in views]
    return [f"{place} view ({view}) alone" for place, view in zip(_PLACES, views, strict=False)]


def _trained_rows(
    joined: str, names: Sequence[str], seeds: Sequence[int]
) -> Iterator[RowDeclaration]:
    for seed in seeds:
        which = "" if len(seeds) == 1 else f", seed {seed}"
        files = tuple(EmbeddingFile(trained_set(seed, seeds), name) for name in names)
        yield RowDeclaration(trained_row(seed, seeds), f"{joined}, trained{which}", files)


def _random_rows(
    joined: str, names: Sequence[str], seeds: Sequence[int]
) -> Iterator[RowDeclaration]:
    for seed in seeds:
        files = tuple(EmbeddingFile(random_set(seed), name) for name in names)
        yield RowDeclaration(random_row(seed), f"{joined}, random weights, seed {seed}", files)


def row_job(
    row: RowDeclaration, embedding_folders: Mapping[str, Path], out: Path
) -> dict[str, Any]:
    """Returns a row's entry in the job of ``models.evaluate_probing``.

    Args:
        embedding_folders: folder of each embedding set, by its name.
        out: the row's result file.

    Raises:
        ValueError: an embedding set that the row needs has no folder.
    """

    def paths(files: Sequence[EmbeddingFile]) -> list[str]:
        missing = sorted({f.embedding_set for f in files} - set(embedding_folders))
        if missing:
            raise ValueError(f"row {row.name!r} needs the embedding sets {missing}")
        return [str(embedding_folders[f.embedding_set] / f"{f.name}.npy") for f in files]

    return {
        "name": row.name,
        "description": row.description,
        "embeddings": paths(row.embeddings),
        "project_to_width": row.project_to_width,
        "out": str(out),
    }
