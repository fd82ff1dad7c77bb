"""The probing table and what follows from it, computed from results on derived tasks.

Its rows, what their seeds vary, how they compare, and which figures differ from random weights.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import starmap
from pathlib import Path
from typing import Any

from treeviews.models.encoding.encoder_names import BAG_OF_WORDS, READY, SIF
from treeviews.models.evaluation.averages import average_over_tasks
from treeviews.models.evaluation.comparison import ComparisonConfig, compare
from treeviews.models.evaluation.probing_tasks import TASKS
from treeviews.models.evaluation.resampling import CONFIDENCE, Interval
from treeviews.models.evaluation.task_result import read_result, scored_results
from treeviews.models.report.figures import Figure, ScoredEncoder
from treeviews.models.report.sections import Mark
from treeviews.pipeline.base.bundled import BUNDLED_MODELS

TRAINED = "trained"
RANDOM_SEEDS = (0, 1, 2)
PAIR_ROW = "pair"
PROJECTED_ROW = "bag_of_words_projected"
PAIR_AND_WORDS_ROW = "pair_and_bag_of_words"
RANDOM_AND_WORDS_ROW = "random_and_bag_of_words"
RANDOM_WEIGHTS = "random weights"
"""Stands for the rows of all random seeds together."""
TRAINED_SEEDS = "trained pair"
"""Likewise for the rows of all training seeds, where they are several."""
AVERAGE = "average"
"""Stands beside the tasks for the mean over them."""

# The rows, declared.


@dataclass(frozen=True, slots=True)
class RowDeclaration:
    """One row of the probing table."""

    name: str
    description: str
    encoder: str
    """As ``EvaluateEncoder`` takes it."""
    representation: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Fields of ``Representation`` that differ from the plain one."""


SEEDS_OF = {TRAINED: re.compile("pair(_seed_.*)?"), RANDOM_WEIGHTS: re.compile("random_weights_.*")}
"""Which rows differ in their seed alone, by what the table calls them together."""


def declare_rows(
    views: Sequence[str], seeds: Sequence[int] = (0,), *, embedding_width: int
) -> tuple[RowDeclaration, ...]:
    """Returns the rows that stand beside trained views, in the table's order.

    Args:
        views: those of the finished model, as in ("DEP", "CONST").
        seeds: of training, one row each; the first one's views are also scored alone and joined
            with the words.
        embedding_width: width to which the bag of words is projected; its row needs no trained
            model.
    """
    pair, first = ",".join(views), f", seed {seeds[0]}" if len(seeds) > 1 else ""
    words, beside = "mean of the same word vectors", "joined with the mean of the word vectors"
    trained = [RowDeclaration(PAIR_ROW, f"{pair}, trained{first}", TRAINED)]
    trained += [
        RowDeclaration(f"{PAIR_ROW}_seed_{k}", f"{pair}, trained, seed {k}", f"{TRAINED}-{k}")
        for k in seeds[1:]
    ]
    # Equal views are told apart by their place; a single view has that row already.
    alone = [
        RowDeclaration(
            f"view_{place}-{view}",
            f"{view if len({*views}) == len(views) else f'view {place} ({view})'} alone, trained",
            TRAINED,
            {"views": [f"{place}-{view}"]},
        )
        for place, view in enumerate(views if len(views) > 1 else ())
    ]
    untrained = [
        RowDeclaration(f"random_weights_{k}", f"{pair}, random weights, seed {k}", f"random-{k}")
        for k in RANDOM_SEEDS
    ]
    projected = f"{words}, randomly projected to {embedding_width} dimensions"
    width = {"project_to_width": embedding_width}
    joined = {PAIR_AND_WORDS_ROW: trained[0], RANDOM_AND_WORDS_ROW: untrained[0]}
    return (
        *trained,
        *alone,
        *untrained,
        RowDeclaration(BAG_OF_WORDS, words, BAG_OF_WORDS),
        RowDeclaration(PROJECTED_ROW, projected, BAG_OF_WORDS, width),
        RowDeclaration(SIF, f"{words}, SIF weights", SIF),
        *(RowDeclaration(name, f"{name}, which ships", name) for name in BUNDLED_MODELS),
        *(
            RowDeclaration(name, f"{row.description}, {beside}", row.encoder, {"join_words": True})
            for name, row in joined.items()
        ),
    )


# The rows, scored.


@dataclass(frozen=True)
class ProbingRow(ScoredEncoder):
    """A row of the probing table: an encoder, or several that differ in their seed alone.

    Its results are by probing task, in the order of their declarations.
    """

    name: str

    @classmethod
    def read(cls, row: RowDeclaration, files: Sequence[Path]) -> ProbingRow:
        """Returns the row of result files, one a task; those of absent tasks are passed over.

        Raises:
            FileNotFoundError: a result is missing.
            ValueError: a result is damaged; names its file.
        """
        results = {result.task.name: result for result in map(read_result, files)}
        by_probe = {
            task.name: results[task.evaluation_task]
            for task in TASKS
            if task.evaluation_task in results
        }
        return cls(row.description, (scored_results(by_probe),), row.name)

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """The accuracy on each task, and their `AVERAGE`."""
        figures = {task: self.score(task, "accuracy") for task in self.seeds[0]}
        averages = [average_over_tasks(scored_results(results)) for results in self.seeds]
        return {**figures, AVERAGE: Figure.over(averages)}

    @property
    def width(self) -> int:
        """Dimensions of the embeddings."""
        return self.scored[0].outcome.width


# What follows from them.


@dataclass(frozen=True, slots=True)
class RowComparison:
    """Two rows on the same test items."""

    first: str
    second: str
    difference: Interval
    """First minus second, averaged over tasks."""
    tasks: Mapping[str, Interval]
    marks: Mapping[str, Mark]
    """Which differences are significant, of tasks and of their `AVERAGE`."""

    @classmethod
    def of(cls, first: ProbingRow, second: ProbingRow) -> RowComparison:
        """Returns the comparison by paired bootstrap.

        p values of tasks are corrected for their number (Holm 1979); the mark of `AVERAGE` says
        that the interval of its difference excludes 0.
        """
        how = ComparisonConfig(test="bootstrap", correction="holm")
        compared = compare(first.seeds, second.seeds, how)
        average = compared.average
        assert average is not None, "probing tasks are derived from one corpus"
        pairs = zip(first.seeds[0], compared.tasks, strict=True)
        differences = {
            task: (row.difference, row.corrected_p < 1 - CONFIDENCE) for task, row in pairs
        }
        tasks = {task: difference for task, (difference, _) in differences.items()}
        differences[AVERAGE] = average, average.excludes_zero
        marks: dict[str, Mark] = {
            task: ("better" if difference.value > 0 else "worse") if is_sure else ""
            for task, (difference, is_sure) in differences.items()
        }
        return cls(first.name, second.name, average, tasks, marks)

    def verdict(self, first: str, second: str) -> str:
        """Returns the outcome in words, with these names of the rows."""
        outcomes: dict[Mark, str] = {
            "": f"there is no significant difference between {first} and {second}",
            "better": f"{first} beats {second}",
            "worse": f"{first} is worse than {second}",
        }
        return outcomes[self.marks[AVERAGE]]


@dataclass(frozen=True)
class ProbingTable:
    """The rows of a run, what their seeds vary, and how they compare."""

    rows: tuple[ProbingRow, ...]
    """One an encoder, as declared."""

    @property
    def tasks(self) -> list[str]:
        """The tasks that all rows were scored on."""
        return list(self.rows[0].seeds[0])

    @cached_property
    def over_seeds(self) -> dict[str, ProbingRow]:
        """The rows that are taken together, by their name in `SEEDS_OF`."""
        together: dict[str, ProbingRow] = {}
        for name, pattern in SEEDS_OF.items():
            seeds = tuple(row.seeds[0] for row in self.rows if pattern.fullmatch(row.name))
            text = f"{name}, mean ± sd over {len(seeds)} seeds"
            together[name] = ProbingRow(text, seeds, name)
        return together

    @property
    def all_rows(self) -> list[ProbingRow]:
        """The rows, and below those of several seeds what these are together."""
        rows = list(self.rows)
        for name, row in self.over_seeds.items():
            if len(row.seeds) > 1:
                places = (n for n, one in enumerate(rows) if SEEDS_OF[name].fullmatch(one.name))
                rows.insert(max(places) + 1, row)
        return rows

    @cached_property
    def comparisons(self) -> tuple[RowComparison, ...]:
        """The comparisons that the table exists for; the first says what training adds."""
        rows, trained = {row.name: row for row in self.rows}, self.over_seeds[TRAINED]
        pair = replace(trained, name=TRAINED_SEEDS) if len(trained.seeds) > 1 else rows[PAIR_ROW]
        others = [rows[name] for name in (PROJECTED_ROW, *READY)]
        joined = [rows[name] for name in (RANDOM_AND_WORDS_ROW, BAG_OF_WORDS, PAIR_ROW)]
        sides = [(pair, row) for row in (self.over_seeds[RANDOM_WEIGHTS], *others)]
        sides += [(rows[PAIR_AND_WORDS_ROW], row) for row in joined]
        return tuple(starmap(RowComparison.of, sides))

    @property
    def baseline(self) -> str:
        """Random weights in words."""
        return f"{RANDOM_WEIGHTS} ({len(self.over_seeds[RANDOM_WEIGHTS].seeds)} seeds)"

    @cached_property
    def marks(self) -> dict[str, Mapping[str, Mark]]:
        """Which figures differ from random weights on the same test items, by row and task.

        Random weights have none.
        """
        random = self.over_seeds[RANDOM_WEIGHTS]
        return {
            row.name: RowComparison.of(row, random).marks
            for row in self.all_rows
            if row.seeds[0] not in random.seeds
        }

    def mark(self, row: str, task: str) -> Mark:
        """Returns the mark of a figure."""
        return self.marks.get(row, {}).get(task, "")
