"""Which stages a table consists of: its parameters, its trainings, the evaluations of each row."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import luigi

from treeviews.models.evaluation.task_data import why_absent
from treeviews.models.evaluation.task_registry import task_named
from treeviews.models.report.experiment import (
    WORDS,
    Experiment,
    Joined,
    NotHere,
    Row,
    Trained,
    Training,
    Untrained,
    changes_of,
    check_trainings,
)
from treeviews.models.report.table_columns import chosen_columns
from treeviews.tasks.artefact import Artefact
from treeviews.tasks.checks import Check
from treeviews.tasks.evaluation_data import DownloadSentEval
from treeviews.tasks.parameters import (
    CorpusParameters,
    ExpansionParameters,
    HeldOutParameters,
    ParserParameters,
    SentEvalParameters,
    TrainingParameters,
)
from treeviews.tasks.sentences import SplitSentences
from treeviews.tasks.senteval import EvaluateEncoder
from treeviews.tasks.training import ExpandVocabulary, TrainEncoders

NO_SECOND_TEXT = "no second text was given (--second-corpus)"
_BLOCK = "held_out_block_sentences"
"""The one field of a training on which word vectors of the corpus depend."""


class TableParameters:
    """How large a table is: seeds, width, tasks."""

    seeds = luigi.Parameter(
        default="0", description="Seeds to train with, separated by commas; figures are over them."
    )
    random_seeds = luigi.Parameter(
        default="0",
        description="Seeds of the random weights beside what is trained; none leaves them out.",
    )
    width = luigi.OptionalIntParameter(
        default=None,
        description="Width of a view (hidden_size) in every training; by default the preset's, "
        "which in the papers' takes a GPU or patience.",
    )
    tasks = luigi.Parameter(
        default="",
        description="Tasks that are scored, separated by commas; by default all of the table.",
    )
    derived = luigi.BoolParameter(
        description="Score on the probing tasks that are derived from the run's held-out documents "
        "as well: they are there without any data."
    )
    grid_scale = luigi.OptionalFloatParameter(
        default=None,
        description="Factor on every C of SentEval's grids of the logistic regression; by default "
        "the table's own: 4 where views have length 1, else 1.",
    )
    second_corpus = luigi.DictParameter(
        default={},
        description='Parameters of a second text, as JSON: \'{"source": "files", "paths": '
        '"more/"}\'; for the rows of tables that compare corpora.',
    )


class ExperimentParameters(
    TableParameters,
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
    ExpansionParameters,
    SentEvalParameters,
):
    """What a table is made of. Presets, views and representations are the declaration's."""

    preset = ""
    views = ""
    seed = 0
    further_seeds: Any = ()
    representation = ""
    representation_changes: Any = None
    encoder_version = ""


def seeds_of(given: str, name: str) -> tuple[int, ...]:
    """Returns whole numbers separated by commas, each once; nothing for ``none``.

    Raises:
        ValueError: something else; names the parameter.
    """
    if str(given).strip().lower() == "none":
        return ()
    words = [word.strip() for word in str(given).split(",") if word.strip()]
    if not all(word.isascii() and word.isdigit() for word in words):
        raise ValueError(f"--{name} must be whole numbers separated by commas, not {given!r}")
    return tuple(dict.fromkeys(map(int, words)))


def second_corpus_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parameters of a second text, checked; none where none is given.

    Raises:
        ValueError: a name that is no parameter of a text.
    """
    known = {
        name
        for cls in CorpusParameters.__mro__
        for name, value in vars(cls).items()
        if isinstance(value, luigi.Parameter)
    }
    if unknown := sorted(set(given) - known):
        raise ValueError(
            f"--second-corpus has {', '.join(unknown)}, which is no parameter of a text; known: "
            f"{', '.join(sorted(known))}"
        )
    return dict(given)


class TableStages(ExperimentParameters, Artefact):
    """A declared table whose stages can be asked for by row."""

    declared: ClassVar[Experiment | None] = None
    """The table; a stage whose parameters declare it makes it in `declaration`."""

    def declaration(self) -> Experiment:
        """Returns the table as declared.

        Raises:
            ValueError: parameters that declare none.
        """
        if self.declared is None:
            raise NotImplementedError(f"{type(self).__name__} declares no table")
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
        second_corpus_of(self.second_corpus)
        columns = chosen_columns(declared.columns, self.tasks, derived=self.derived)
        rows = [
            row
            for row in map(self._with_corpus, declared.rows)
            if self.untrained_seeds or not isinstance(row.encoder, Untrained)
        ]
        experiment = replace(declared, columns=columns, rows=tuple(rows))
        check_trainings(experiment, self.changes, self.width)
        return experiment

    def _with_corpus(self, row: Row) -> Row:
        """Returns a row; one of a second text that is not given is not here."""
        corpora = {one.corpus for one in (*row.trainings, row.architecture) if one is not None}
        if "second" in corpora and not self.second_corpus:
            return replace(row, encoder=NotHere(NO_SECOND_TEXT))
        return row

    @cached_property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds to train with.

        Raises:
            ValueError: no whole numbers, or none at all.
        """
        seeds = seeds_of(self.seeds, "seeds")
        if not seeds:
            raise ValueError("--seeds must name a seed at least; give 0")
        return seeds

    @property
    def untrained_seeds(self) -> tuple[int, ...]:
        """The seeds of random weights.

        Raises:
            ValueError: no whole numbers.
        """
        return seeds_of(self.random_seeds, "random-seeds")

    def checks(self) -> list[Check]:
        """Refuses what cannot be made; see `check`."""
        return [*super().checks(), self.check]

    def checked(self) -> list[luigi.Task]:
        """Returns the sentences and the data; the trainings are checked as they are declared."""
        return [self.clone(SplitSentences), self.clone(DownloadSentEval)]

    def check(self) -> None:
        """Refuses what cannot be made, before anything is.

        Raises:
            ValueError: a parameter that cannot be, or trainings that cannot be or are the same.
        """
        _ = (self.experiment, self.all_seeds, self.untrained_seeds)

    # What is made.

    def own(self, training: Training | None) -> dict[str, Any]:
        """Returns the parameters that tell a training, or what has none, from others."""
        if training is None:
            block = {name: value for name, value in self.changes.items() if name == _BLOCK}
            return {"preset": "laptop", "views": "", "changes": block, "seed": 0}
        second = second_corpus_of(self.second_corpus) if training.corpus == "second" else {}
        return {
            "preset": training.preset,
            "views": ",".join(training.views),
            "changes": changes_of(training, self.changes, self.width),
            "seed": 0,
            **second,
        }

    def training(self, training: Training, seed: int) -> TrainEncoders:
        """Returns the task that trains."""
        task: TrainEncoders = self.clone(TrainEncoders, **(self.own(training) | {"seed": seed}))
        return task

    def encoders(self, row: Row) -> list[str]:
        """Returns what `EvaluateEncoder` calls the encoders of a row, one a seed.

        Those of joined models name folders, which must be there.
        """
        random = self.untrained_seeds
        match row.encoder:
            case Trained(words=words):
                return [words if seed == 0 else f"{words}-{seed}" for seed in self.all_seeds]
            case Untrained():
                return [f"random-{seed}" for seed in random]
            case Joined(parts=parts):
                return [
                    "+".join(f"{self.training(one, seed).folder}@{view}" for one, view in parts)
                    for seed in self.all_seeds
                ]
            case NotHere():
                return []
            case ready:
                return [ready.name] * (len(random) or 1 if row.seeded else 1)

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
        given = {
            **self.own(own_training),
            "tasks": ",".join(names),
            "representation": self.experiment.representation,
            "grid_scale": scale,
            "derived": derived,
            **({"senteval_data": ""} if derived else {}),
        }
        return [
            self.clone(
                EvaluateEncoder, **given, encoder=name, representation_changes=self._changes(row, k)
            )
            for k, name in enumerate(self.encoders(row))
        ]

    def task_names(self, *, derived: bool = False) -> list[str]:
        """Returns the tasks of the columns, each once: SentEval's, or those that are derived."""
        columns = [one for one in self.experiment.columns if one.derived == derived]
        return list(dict.fromkeys(task for column in columns for task in column.tasks))

    def absent(self) -> dict[str, str]:
        """Returns which of SentEval's tasks have no data at the moment, with the reason."""
        data = self.data()
        if data is None:
            return {}
        reasons = {
            name: why_absent(task_named(name), data.data_folder) for name in self.task_names()
        }
        return {name: reason for name, reason in reasons.items() if reason}

    def data(self) -> DownloadSentEval | None:
        """Returns the task that brings SentEval's data; None where no column needs them."""
        names = self.task_names()
        if not names:
            return None
        scoring: EvaluateEncoder = self.clone(EvaluateEncoder, **self.own(None))
        return scoring.data(*(task_named(name).dataset for name in names))

    def _changes(self, row: Row, place: int) -> dict[str, Any]:
        """Returns what a row changes of the representation, with its seed where it takes one."""
        if not row.seeded:
            return dict(row.changes)
        is_trained = isinstance(row.encoder, Trained | Joined)
        seeds = self.all_seeds if is_trained else self.untrained_seeds
        seed = (seeds or (0,))[place]
        return {**row.changes, **dict.fromkeys(row.seeded, seed)}

    @cached_property
    def missing(self) -> dict[str, str]:
        """Rows whose encoder is not there, by full title, with the reason."""
        found = {}
        for row in self.experiment.rows:
            if isinstance(row.encoder, Joined | NotHere):
                continue
            try:
                for stage in self._any_stages(row):
                    _ = stage.evaluated
            except FileNotFoundError as error:
                if row.trainings or isinstance(row.encoder, Untrained) or row.encoder == WORDS:
                    raise  # the run's own word vectors are not there: a mistake
                found[row.full_title] = str(error)
        return found

    def _any_stages(self, row: Row) -> list[EvaluateEncoder]:
        return self.stages(row) or self.stages(row, derived=True)

    def here(self, *, joined: bool = True) -> list[Row]:
        """Returns the rows that something is measured of.

        Args:
            joined: whether with those of joined models, which must be there.
        """
        skipped = NotHere if joined else NotHere | Joined
        return [
            row
            for row in self.experiment.rows
            if not isinstance(row.encoder, skipped) and row.full_title not in self.missing
        ]

    def trained_by(self, row: Row) -> list[list[TrainEncoders]]:
        """Returns what is trained for a row, a list a seed."""
        if isinstance(row.encoder, Joined):
            return [[self.training(t, seed) for t in row.trainings] for seed in self.all_seeds]
        if not isinstance(row.encoder, Trained):
            return []
        if row.encoder.words == "trained":
            return [[self.training(row.encoder.training, seed)] for seed in self.all_seeds]
        return [_trainings_of(stage) for stage in self._any_stages(row)]


def _trainings_of(stage: EvaluateEncoder) -> list[TrainEncoders]:
    """Returns the trainings behind an encoder of the run."""
    return [
        task.training if isinstance(task, ExpandVocabulary) else task
        for task in stage.evaluated.requires.values()
        if isinstance(task, ExpandVocabulary | TrainEncoders)
    ]
