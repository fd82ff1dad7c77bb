"""Which trainings and evaluations a comparison of frameworks is made of, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import luigi

from models.evaluation.named_encoder import BAG_OF_WORDS
from models.frameworks import (
    PUBLISHED_PRESETS,
    Framework,
    Taken,
    frameworks_named,
    joined_named,
    taken_of,
    together,
)
from models.report.published import WORD_VECTORS, Part
from tasks.artefact import Artefact
from tasks.parameters import (
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    SentEvalParameters,
    TrainingParameters,
)
from tasks.senteval import EvaluateEncoder
from tasks.training import TrainEncoders

REPRESENTATION = "multi-view"
WORDS_MEAN, WORDS_POOLED = "mean", "pooled as g"


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One row of the table, with the evaluations that it is made of."""

    framework: str
    taken: str
    component_removed: bool
    stages: tuple[EvaluateEncoder, ...]
    """One a seed."""
    published: tuple[str, Part] | None = None
    training: TrainEncoders | None = None
    """Whose parameters are counted."""


class FrameworkParameters(
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
    SentEvalParameters,
    Artefact,
):
    """What is compared. Presets and representations are the frameworks' own."""

    frameworks = luigi.Parameter(
        default=",".join(PUBLISHED_PRESETS),
        description="Presets to compare, separated by commas: B-G, B-D, B-GD, C-linear, "
        "C-bijective.",
    )
    variants = luigi.BoolParameter(
        description="Train what Tang & de Sa's table 6 (2018) has beside B-G and B-D, too: a free "
        "decoder, two views of one kind, single views, and ensembles of views trained apart."
    )
    f = luigi.ChoiceParameter(
        default="SEQ",
        choices=["SEQ", "DEP", "CONST"],
        description="The view in the place of the papers' bi-GRU.",
    )
    tasks = luigi.Parameter(
        default="STS14,SICK14,MR,TREC", description="Tasks, separated by commas, or all."
    )
    component_kept = luigi.ChoiceParameter(
        default="ensemble",
        choices=["none", "ensemble", "all"],
        description="For what the top principal component is also kept: nothing, all views of a "
        "model together, or each of them as well.",
    )
    further_seeds = luigi.ListParameter(
        default=[], description="Further seeds to train each framework with; [] trains once."
    )
    random_seeds = luigi.ListParameter(
        default=[0],
        description="Seeds of the random weights that stand beside each framework; [] for none.",
    )

    grid_scale = luigi.FloatParameter(
        default=4.0,
        description="Factor on every C of SentEval's grids of the logistic regression, since views "
        "have length 1 here; 1 is SentEval's own.",
    )

    preset = ""
    views = ""
    representation = REPRESENTATION
    representation_changes: Any = None

    @cached_property
    def compared(self) -> list[Framework]:
        """The frameworks, variants among them.

        Raises:
            ValueError: a name that is none, or changes that would make one framework another.
        """
        if "objective" in self.changes:
            raise ValueError(
                "changes sets objective, which makes a framework another one; choose among "
                "frameworks"
            )
        names = [name.strip() for name in self.frameworks.split(",") if name.strip()]
        return frameworks_named(names, variants=self.variants, f=self.f)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds to train with."""
        return tuple(dict.fromkeys((self.seed, *self.further_seeds)))

    def training(self, framework: Framework, seed: int) -> TrainEncoders:
        """Returns the task that trains a framework."""
        task: TrainEncoders = self.clone(TrainEncoders, **self._own(framework), seed=seed)
        return task

    def evaluation(
        self, encoder: str, changes: dict[str, Any], framework: Framework | None = None
    ) -> EvaluateEncoder:
        """Returns the task that scores an encoder on all tasks.

        Args:
            changes: of the representation.
            framework: whose encoder it is; None where it is no one framework's.
        """
        stage: EvaluateEncoder = self.clone(
            EvaluateEncoder,
            **self._own(framework or self.compared[0]),
            encoder=encoder,
            representation_changes=changes,
        )
        return stage

    def _evaluations(
        self, encoders: Sequence[str], taken: Taken, framework: Framework
    ) -> tuple[EvaluateEncoder, ...]:
        """Returns those of a framework's encoders, one a seed, represented as its paper does."""
        changes = {**framework.represented, **taken.changes}
        return tuple(self.evaluation(encoder, changes, framework) for encoder in encoders)

    def _own(self, framework: Framework) -> dict[str, Any]:
        return {
            "preset": framework.preset,
            "views": ",".join(framework.views),
            "changes": {**self.changes, **framework.changes},
        }

    @cached_property
    def trained_rows(self) -> list[ComparedRow]:
        """What each trained model gives."""
        return [row for one in self.compared for row in self._trained_rows(one)]

    @cached_property
    def baseline_rows(self) -> list[ComparedRow]:
        """Random weights beside each framework that is no variant, and the word vectors."""
        frameworks = [one for one in self.compared if not one.is_variant]
        random = [row for one in frameworks for row in self._random_rows(one)]
        return [*random, *self._word_rows()]

    @property
    def rows(self) -> list[ComparedRow]:
        """The rows whose encoders can be named before anything is trained."""
        return [*self.trained_rows, *self.baseline_rows]

    def _trained_rows(self, framework: Framework) -> Iterator[ComparedRow]:
        encoders = ["trained", *(f"trained-{seed}" for seed in self.seeds[1:])]
        training = self.training(framework, self.seed)
        for taken in taken_of(training.config.test_views, self.component_kept):
            yield ComparedRow(
                framework.name,
                taken.title,
                taken.component_removed,
                self._evaluations(encoders, taken, framework),
                _published(framework.published, taken),
                training,
            )

    def _random_rows(self, framework: Framework) -> Iterator[ComparedRow]:
        encoders = [f"random-{seed}" for seed in dict.fromkeys(self.random_seeds)]
        for taken in together(self.component_kept) if encoders else []:
            yield ComparedRow(
                f"{framework.name}, random weights",
                taken.title,
                taken.component_removed,
                self._evaluations(encoders, taken, framework),
                training=self.training(framework, self.seed),
            )

    def _word_rows(self) -> Iterator[ComparedRow]:
        """Yields the mean of the word vectors, as B gives it, and the words pooled as g is."""
        for title in (WORDS_MEAN, WORDS_POOLED):
            pooling = {"supervised_pooling": ["mean"]} if title == WORDS_MEAN else {}
            for taken in together(self.component_kept):
                yield ComparedRow(
                    "word vectors",
                    title,
                    taken.component_removed,
                    (self.evaluation(BAG_OF_WORDS, pooling | taken.changes),),
                    _published(WORD_VECTORS if title == WORDS_MEAN else None, taken),
                )

    def joined_rows(self) -> list[ComparedRow]:
        """Returns the rows of views that were trained apart, whose models must be there."""
        return [
            ComparedRow(
                joined.name,
                taken.title,
                taken.component_removed,
                tuple(
                    self.evaluation(self._joined_encoder(joined.parts, seed), taken.changes)
                    for seed in self.seeds
                ),
                _published(joined.published, taken),
            )
            for joined in joined_named(self.compared, f=self.f)
            for taken in together(self.component_kept)
        ]

    def _joined_encoder(self, parts: Sequence[tuple[str, str]], seed: int) -> str:
        """Returns what `EvaluateTask` calls views of several models."""
        by_name = {one.name: one for one in self.compared}
        return "+".join(
            f"{self.training(by_name[name], seed).folder}@{view}" for name, view in parts
        )


def _published(framework: str | None, taken: Taken) -> tuple[str, Part] | None:
    return None if framework is None or taken.part is None else (framework, taken.part)
