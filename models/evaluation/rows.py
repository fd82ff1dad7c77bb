"""The rows of the probing table, declared: which embeddings each needs and how they combine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TRAINED = "trained"
BAG_OF_WORDS = "bag_of_words"
BAG_OF_WORDS_FILE = "0-BOW"
RANDOM_SEEDS = (0, 1, 2)

PAIR_ROW = "pair"
MAJORITY_ROW = "majority_class"


@dataclass(frozen=True, slots=True)
class EmbeddingFile:
    """One view's embeddings of the probing sentences: a file of an embedding set's folder."""

    embedding_set: str
    """``trained``, ``random-<seed>`` or ``bag_of_words``."""
    name: str
    """``<position>-<view>``, as in ``0-DEP``."""


@dataclass(frozen=True, slots=True)
class RowDeclaration:
    """One row of the probing table."""

    name: str
    description: str
    embeddings: tuple[EmbeddingFile, ...] = ()
    """Joined side by side; none for the majority class."""
    project_to_width_of: tuple[EmbeddingFile, ...] = ()
    """Where given, the joined embeddings are projected at random to these files' joined width."""


def random_set(seed: int) -> str:
    """Returns the name of the embedding set of an untrained encoder."""
    return f"random-{seed}"


def random_row(seed: int) -> str:
    """Returns the name of the row of an untrained encoder."""
    return f"random_weights_{seed}"


def declare_rows(
    views: Sequence[str], random_seeds: Sequence[int] = RANDOM_SEEDS
) -> tuple[RowDeclaration, ...]:
    """Returns the rows that stand beside a trained pair of views, in the table's order.

    Args:
        views: the pair, as in ("DEP", "CONST").
        random_seeds: one row each for the same architecture with random weights.
    """
    names = [f"{position}-{view}" for position, view in enumerate(views)]
    pair = tuple(EmbeddingFile(TRAINED, name) for name in names)
    words = (EmbeddingFile(BAG_OF_WORDS, BAG_OF_WORDS_FILE),)
    joined = ",".join(views)
    return (
        RowDeclaration(PAIR_ROW, f"{joined}, trained", pair),
        *(
            RowDeclaration(f"view_{name}", f"{view} of the pair alone, trained", (part,))
            for name, view, part in zip(names, views, pair, strict=True)
        ),
        *(
            RowDeclaration(
                random_row(seed),
                f"{joined}, random weights, seed {seed}",
                tuple(EmbeddingFile(random_set(seed), name) for name in names),
            )
            for seed in random_seeds
        ),
        RowDeclaration(BAG_OF_WORDS, "mean of the same word vectors", words),
        RowDeclaration(
            "bag_of_words_projected",
            "mean of the same word vectors, randomly projected to the pair's width",
            words,
            project_to_width_of=pair,
        ),
        RowDeclaration(
            "pair_and_bag_of_words",
            f"{joined}, trained, joined with the mean of the word vectors",
            pair + words,
        ),
        RowDeclaration(MAJORITY_ROW, "always the commonest class"),
    )


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
        "project_to_width_of": paths(row.project_to_width_of),
        "out": str(out),
    }
