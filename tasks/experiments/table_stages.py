"""Which stages a table consists of: its parameters, its trainings, the evaluations of each row."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import luigi

from treeviews.models.evaluation.task_data import why_absent
from treeviews.models.evaluation.task_registry import task_named
from treeviews.models.report.experiment import (
    NOT_HERE,
    UNTRAINED,
    Experiment,
    Row,
    Training,
    changes_of,
    check_trainings,
)
from treeviews.models.report.table_columns import chosen_columns
from treeviews.tasks.artefact import Artefact
from treeviews.tasks.checks import Check
from treeviews.tasks.evaluation_data import DownloadSentEval
from treeviews.tasks.parameters import ExpansionParameters, ModelParameters, SentEvalParameters
from treeviews.tasks.sentences import SplitSentences
from treeviews.tasks.senteval import EvaluateEncoder
from treeviews.tasks.training import TrainEncoders, with_words

NO_SECOND_TEXT = "no second text was given (--second-corpus)"
_BLOCK = "held_out_block_sentences"
"""The one field of a training on which word vectors of the corpus depend."""


class ExperimentParameters(ModelParameters, ExpansionParameters, SentEvalParameters, Artefact):
    """Scale of a table: seeds, width and tasks.

    Presets, views and representations are the declaration's.
    """

    preset = ""
    views = ""
    seed = 0
    further_seeds: Any = ()
    representation = ""
    representation_changes: Any = None
    encoder_version = ""

    seeds = luigi.Parameter(
        default="0", description="Training seeds separated by commas; figures are means over them."
    )
    random_seeds = luigi.Parameter(
        default="0",
        description="Seeds of the rows with random weights; none leaves them out.",
    )
    width = luigi.OptionalIntParameter(
        default=None,
        description="Width of every view (hidden_size). Default: the preset's; that of the papers "
        "needs a GPU or patience.",
    )
    tasks = luigi.Parameter(
        default="",
        description="Task names separated by commas. Default: all of the table.",
    )
    derived = luigi.BoolParameter(
        description="Also score on probing tasks derived from the held-out documents, which need "
        "no other data."
    )
    grid_scale = luigi.OptionalFloatParameter(
        default=None,
        description="Factor on every C in SentEval's grids for the logistic regression. Default: "
        "the table's, 4 if views have length 1, otherwise 1.",
    )
    second_corpus = luigi.DictParameter(
        default={},
        description="Parameters of a second text, for tables that compare corpora, as JSON: "
        '\'{"source": "files", "paths": "more/"}\'.',
    )


def seeds_of(text: str, name: str) -> tuple[int, ...]:
    """Returns whole numbers separated by commas, each once; nothing for ``none``.

    Raises:
        ValueError: something else; names the parameter.
    """
    if str(text).strip().lower() == "none":
        return ()
    listed = str(text).strip().removeprefix("[").removesuffix("]")
    words = [word.strip() for word in listed.split(",") if word.strip()]
    if not words or not all(word.isascii() and word.isdigit() for word in words):
        raise ValueError(f"--{name} must be whole numbers separated by commas, not {text!r}")
    return tuple(dict.fromkeys(map(int, words)))


class TableStages(ExperimentParameters):
    """A declared table whose stages can be asked for by row."""

    declared: ClassVar[Experiment]
    """The table; a stage whose parameters declare it makes it in `declaration`."""

    def declaration(self) -> Experiment:
        """Returns the table as declared.

        Raises:
            ValueError: parameters that declare none.
        """
        return self.declared

    @cached_property
    def experiment(self) -> Experiment:
        """The table, with the columns and rows that were asked for.

        Raises:
            ValueError: a parameter that cannot be, or trainings that cannot be or are the same.
        """
        declared = self.declaration()
        if "objective" in self.changes:
            raise ValueError(
                "changes sets objective, which makes a training another one; choose among tables"
            )
        known = {name for name, _ in SplitSentences.get_params()}
        if unknown := sorted(set(self.second_corpus) - known):
            raise ValueError(
                f"--second-corpus has {', '.join(unknown)}, which is no parameter of a text"
            )
        columns = chosen_columns(declared.columns, self.tasks, derived=self.derived)
        rows = [
            row
            for row in map(self._with_corpus, declared.rows)
            if self.untrained_seeds or row.encoder != UNTRAINED
        ]
        experiment = replace(declared, columns=columns, rows=tuple(rows))
        check_trainings(experiment, self.changes, self.width)
        return experiment

    def _with_corpus(self, row: Row) -> Row:
        """Returns a row; one of a second text that is not given is not here."""
        if self.second_corpus or all(training.corpus != "second" for training in row.trainings):
            return row
        return replace(row, encoder=NOT_HERE, trainings=(), reason=NO_SECOND_TEXT)

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds to train with.

        Raises:
            ValueError: no whole numbers, or none at all.
        """
        return seeds_of(self.seeds, "seeds") or seeds_of("", "seeds")

    @property
    def untrained_seeds(self) -> tuple[int, ...]:
        """The seeds of random weights.

        Raises:
            ValueError: no whole numbers.
        """
        return seeds_of(self.random_seeds, "random-seeds")

    def checks(self) -> list[Check]:
        """Refuses what cannot be made, before anything is."""
        return [*super().checks(), lambda: self.experiment, lambda: self.all_seeds]

    def checked(self) -> Iterator[luigi.Task]:
        """Yields the sentences and the data; the trainings are checked as they are declared."""
        yield self.clone(SplitSentences)
        yield from self.data()

    # What is made.

    def own(self, training: Training | None) -> dict[str, Any]:
        """Returns the parameters that tell a training, or what has none, from others."""
        if training is None:
            block = {name: value for name, value in self.changes.items() if name == _BLOCK}
            return {"preset": "laptop", "views": "", "changes": block, "seed": 0}
        return {
            "preset": training.preset,
            "views": ",".join(training.views),
            "changes": changes_of(training, self.changes, self.width),
            "seed": 0,
            **(dict(self.second_corpus) if training.corpus == "second" else {}),
        }

    def training(self, training: Training, seed: int) -> TrainEncoders:
        """Returns the task that trains."""
        return self.clone(TrainEncoders, **(self.own(training) | {"seed": seed}))

    def encoders(self, row: Row) -> list[str]:
        """Returns what `EvaluateEncoder` calls the encoders of a row, one a seed.

        Those of joined models name folders, which must be there.
        """
        if row.joined:
            parts = list(zip(row.trainings, row.joined, strict=True))
            return [
                "+".join(f"{self.training(part, seed).folder}@{view}" for part, view in parts)
                for seed in self.all_seeds
            ]
        if row.is_trained:
            return [
                row.encoder if seed == 0 else f"{row.encoder}-{seed}" for seed in self.all_seeds
            ]
        if row.encoder == UNTRAINED:
            return [f"random-{seed}" for seed in self.untrained_seeds]
        return [row.encoder] * (len(self.untrained_seeds) or 1 if row.seeded else 1)

    def stages(
        self, row: Row, *, derived: bool = False, tasks: Collection[str] | None = None
    ) -> list[EvaluateEncoder]:
        """Returns the tasks that score a row's encoders, one a seed; none without such columns.

        Args:
            derived: on tasks that are derived from the corpus, which a second one's are not.
            tasks: those to score on, of these; None takes all.
        """
        names = [
            name for name in self.task_names(derived=derived) if tasks is None or name in tasks
        ]
        own_training = row.architecture
        if not names or (derived and own_training and own_training.corpus == "second"):
            return []
        scale = self.experiment.grid_scale if self.grid_scale is None else self.grid_scale
        parameters = {
            **self.own(own_training),
            "tasks": ",".join(names),
            "representation": self.experiment.representation,
            "grid_scale": scale,
            "derived": derived,
            **({"senteval_data": ""} if derived else {}),
        }
        seeds = (self.all_seeds if row.is_trained else self.untrained_seeds) or (0,)
        return [
            self.clone(
                EvaluateEncoder,
                **parameters,
                encoder=name,
                representation_changes={**row.changes, **dict.fromkeys(row.seeded, seed)},
            )
            for name, seed in zip(self.encoders(row), seeds, strict=False)
        ]

    def evaluations(
        self, *, joined: bool = True, tasks: Collection[str] | None = None
    ) -> list[EvaluateEncoder]:
        """Returns all that is scored, each once; see `stages`.

        Args:
            joined: whether with joined models, which must be there.
        """
        stages = (
            stage
            for row in self.here()
            if joined or not row.joined
            for stage in (*self.stages(row, tasks=tasks), *self.stages(row, derived=True))
        )
        return list(dict.fromkeys(stages))

    def task_names(self, *, derived: bool = False) -> list[str]:
        """Returns the tasks of the columns, each once: SentEval's, or those that are derived."""
        columns = [column for column in self.experiment.columns if column.derived == derived]
        return list(dict.fromkeys(task for column in columns for task in column.tasks))

    def absent(self) -> dict[str, str]:
        """Returns which of SentEval's tasks have no data at the moment, with the reason."""
        tasks = [task_named(name) for name in self.task_names()]
        folder = self._scoring.data_folder
        reasons = {task.name: why_absent(task, folder) for task in tasks}
        return {name: reason for name, reason in reasons.items() if reason}

    def present(self) -> set[str]:
        """Returns which of SentEval's tasks have data at the moment."""
        return {*self.task_names()} - {*self.absent()}

    def data(self) -> list[DownloadSentEval]:
        """Returns the task that brings SentEval's data, where columns need it."""
        names = [] if self.senteval_data else self.task_names()
        return [self._scoring.data(*(task_named(name).dataset for name in names))] if names else []

    @property
    def _scoring(self) -> EvaluateEncoder:
        return self.clone(EvaluateEncoder, **self.own(None), derived=False)

    def here(self) -> list[Row]:
        """Returns the rows that something is measured of."""
        return [row for row in self.experiment.rows if row.encoder != NOT_HERE]

    def trained_by(self, row: Row) -> list[list[TrainEncoders]]:
        """Returns what is trained for a row, a list a seed."""
        if not row.is_trained:
            return []
        trainings = [[self.training(t, seed) for t in row.trainings] for seed in self.all_seeds]
        if row.encoder == "expanded":
            return [[with_words(task, "trained")] for (task,) in trainings]
        if row.encoder == "ensemble":
            return [[with_words(t, "frozen"), with_words(t, "trained")] for (t,) in trainings]
        return trainings
