"""Checks of parameters: fields, types and ranges of changes, presets, views, encoders, sources.

A stage hands its parameters down by their names, so that those of the task that was asked for are
those of the stages below. Stages that choose others for what they ask for, such as tables of
experiments, are asked for these themselves.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from models.config.training_config import TrainingConfig
from models.config.views import VIEWS
from models.encoding.encoder_names import parse_encoder_name
from models.evaluation.tasks.declarations import tasks_named
from pipeline.cleaning.config import describe_cleaning
from pipeline.cleaning.language import check_language
from tasks.cleaning import CleaningParameters
from tasks.evaluation_table import EvaluateAll
from tasks.expansion import ExpandVocabulary
from tasks.experiments.paper_tables import PaperTables
from tasks.experiments.parameters import TableParameters
from tasks.experiments.table_stages import TableStages
from tasks.parameters import (
    CorpusParameters,
    SentEvalParameters,
    TrainingParameters,
    VectorTrainingParameters,
)
from tasks.preflight.findings import Findings, as_stage
from tasks.probing_text import BuildProbing
from tasks.report import WriteReport
from tasks.sentences import SplitSentences
from tasks.senteval import EvaluateEncoder, EvaluateTask, SentEvalStage
from tasks.training import TrainEncoders
from tasks.word_vectors import OF_THE_CORPUS, TrainWordVectors
from tasks.workflows import RunAll

TRAINING_ROOTS = (TrainEncoders, ExpandVocabulary, WriteReport, RunAll)
"""What trains by its own preset and views."""
_OF_PROTOCOL = ("classifier", "folds", "grid_scale", "compatibility_loss", "protocol_changes")


def check_corpus(root: Any, findings: Findings) -> None:
    """Checks where the text comes from, and how it is cleaned."""
    if isinstance(root, CorpusParameters):
        with findings.refusing():
            sentences = as_stage(root, SplitSentences)
            sentences.check_source()
            if not sentences.url and sentences.source != "hf":
                sentences.opened_source  # noqa: B018 - asked for its refusal
    if isinstance(root, CleaningParameters):
        with findings.refusing():
            cleaning = root.resolved_cleaning()
            describe_cleaning(cleaning)
            check_language(cleaning.language)


def check_training(root: Any, findings: Findings) -> None:
    """Checks preset, views, changes and settings of the machine of what is trained."""
    if declared(root, VectorTrainingParameters, "vector_changes"):
        _check_vector_changes(root, findings)
    if not declared(root, TrainingParameters, "preset", "views", "changes", "seed"):
        return
    if _has_unknown_names(root, findings):
        return
    training = as_stage(root, TrainEncoders)
    with findings.refusing():
        config = training.config
        if isinstance(root, TRAINING_ROOTS):
            config.check_trainable()
            training.launch()
            training.settings()
    if isinstance(root, WriteReport | RunAll):
        with findings.refusing():
            as_stage(root, WriteReport).seeds  # noqa: B018 - asked for its refusal


def _has_unknown_names(root: Any, findings: Findings) -> bool:
    """Tells of all views and fields that there are none of; a configuration tells of one."""
    num_refused = len(findings.refusals)
    for view in filter(None, map(str.strip, root.views.split(","))):
        if view not in VIEWS:
            with findings.refusing():
                TrainingConfig().changed({"views": (view,)})
    unknown = set(root.changes) - {field.name for field in fields(TrainingConfig)}
    if unknown:
        with findings.refusing():
            TrainingConfig().changed(dict.fromkeys(sorted(unknown)))
    return len(findings.refusals) > num_refused


def _check_vector_changes(root: Any, findings: Findings) -> None:
    with findings.refusing():
        if getattr(root, "vectors", OF_THE_CORPUS) == OF_THE_CORPUS:
            as_stage(root, TrainWordVectors).config  # noqa: B018 - asked for its refusal
        elif root.vector_changes:
            raise ValueError(
                f"vector_changes has no effect on {root.vectors}: give --vectors {OF_THE_CORPUS}, "
                "too"
            )


def check_probing(root: Any, findings: Findings) -> None:
    """Checks the settings of the tasks that are derived from the text."""
    if builds_probing(root):
        with findings.refusing():
            as_stage(root, BuildProbing).config  # noqa: B018 - asked for its refusal


def builds_probing(root: Any) -> bool:
    """Returns whether tasks are derived from the text by the root's own settings."""
    if isinstance(root, SentEvalStage | TableParameters):
        return bool(root.derived)
    return isinstance(root, BuildProbing | WriteReport | RunAll)


def check_evaluation(root: Any, findings: Findings) -> None:
    """Checks representation, protocol, tasks and encoders that are scored."""
    if declared(root, SentEvalParameters, "representation", "representation_changes"):
        with findings.refusing():
            root.resolved_representation()
    if declared(root, SentEvalParameters, *_OF_PROTOCOL):
        with findings.refusing():
            root.resolved_protocol()
    if isinstance(root, EvaluateAll | EvaluateEncoder):
        with findings.refusing():
            root.declared(root.tasks)
    if isinstance(root, EvaluateTask):
        with findings.refusing():
            tasks_named(root.task)
    if isinstance(root, EvaluateAll | EvaluateEncoder | EvaluateTask):
        named = root.encoders if isinstance(root, EvaluateAll) else [root.encoder]
        for encoder in named:
            with findings.refusing():
                parse_encoder_name(encoder)


def check_tables(root: Any, findings: Findings) -> None:
    """Checks what tables of experiments train, score and compare."""
    if isinstance(root, TableStages | PaperTables):
        with findings.refusing():
            for table in root.tables if isinstance(root, PaperTables) else (root,):
                table.check()


def declared(root: Any, owner: type, *parameters: str) -> bool:
    """Returns whether a task has these parameters as a class declares them.

    One that has others in their place, or a value of its own, gives its stages other ones than the
    user's.
    """
    own = type(root)
    return all(getattr(own, name, None) is getattr(owner, name) for name in parameters)


def is_chosen(root: Any, parameter: str) -> bool:
    """Returns whether a parameter has another value than its default."""
    declared_one = dict(root.get_params())[parameter]
    return bool(getattr(root, parameter) != declared_one.normalize(declared_one._default))
