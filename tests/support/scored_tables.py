"""Rows, results and summaries made by hand, for the tests of tables of experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.evaluation_examples import answers, result, similarities, task
from treeviews.models.encoding.encoder_names import BAG_OF_WORDS
from treeviews.models.evaluation.task_result import AbsentResult, EncoderIdentity, Result
from treeviews.models.report.experiment import Experiment, Row, Training
from treeviews.models.report.measured_table import ScoredRow, assemble_table
from treeviews.models.report.result_table import ResultTable
from treeviews.models.report.table_columns import Published, columns

SUMMARY: dict[str, Any] = {
    "views": ["SEQ"],
    "objective": "generative",
    "num_parameters": 1_234_567,
    "train_sentences": 74_000,
    "coverage": {"exact": 900, "lower_cased": 50, "unknown": 50, "known_share": 0.95},
    "epochs": 1,
    "steps": 1_500,
    "seconds": 90.0,
    "held_out": {"final": {"accuracy": 0.75, "chance": 0.5, "num_sentences": 100}},
}
GENERATIVE = Training("B-G", "B-G")
OURS = Row(
    "B-G",
    "trained",
    (GENERATIVE,),
    taken="ensemble",
    published=Published("B-G", "ensemble", "removed"),
)
MEAN = Row("word vectors", BAG_OF_WORDS, taken="mean")
BOOKS = {"B": {"BookCorpus": "BookCorpus; 74 M sentences"}}


def scores(share: float, *, seed: int = 0, noise: float = 0.5, data: str = "d0") -> dict[str, Any]:
    """Returns results on MR and STS14 of one seed, this share of MR right."""
    encoder = EncoderIdentity("encoder", f"digest-{share}-{noise}-{seed}", seed)
    made = (
        result(answers(200, share, seed=seed), task("MR"), encoder=encoder, data_digest=data),
        result(similarities(200, noise, seed=seed), task("STS14", "similarity"), encoder=encoder),
    )
    return {one.task.name: one for one in made}


def without(results: Mapping[str, Result], name: str, reason: str) -> dict[str, Result]:
    """Returns results of which one is absent."""
    absent = AbsentResult(results[name].task, results[name].setup, reason)
    return {**results, name: absent}


def experiment(*rows: Row, names: tuple[str, ...] = ("STS14", "MR", "hours")) -> Experiment:
    """Returns the declaration of a small table of B's."""
    return Experiment("small", "A small table", ("B, table 3",), rows, columns(*names), BOOKS)


def small_table(*rows: ScoredRow, declared: Experiment | None = None, **given: Any) -> ResultTable:
    """Returns the table of rows that were scored."""
    of = declared or experiment(*(row.row for row in rows))
    return assemble_table(of, rows, {"B-G": [SUMMARY]}, **given)


def scored(row: Row = OURS, *seeds: Mapping[str, Result], **given: Any) -> ScoredRow:
    """Returns a row with its results."""
    summaries = tuple((SUMMARY,) for _ in seeds if row.is_trained)
    return ScoredRow(row, seeds, **({"scale": "stories", "summaries": summaries} | given))
