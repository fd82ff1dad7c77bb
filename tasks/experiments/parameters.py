"""Parameters that every table of experiments has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import luigi

from tasks.parameters import (
    CorpusParameters,
    ExpansionParameters,
    HeldOutParameters,
    ParserParameters,
    SentEvalParameters,
    TrainingParameters,
)


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
