"""What a finished training says of itself, gathered from its metrics a record at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from models.corpus.parsed_corpus import CorpusSurvey
from models.model_folder import num_parameters
from models.training.loop import TrainingLoop
from models.training.machine import peak_memory_gib, versions

MEASURES = (
    "generative_loss",
    "discriminative_loss",
    "temperature",
    "orthonormality",
)
"""Names that objectives give to what they measure beside loss and accuracy."""


def summary_of(
    run: TrainingLoop,
    survey: CorpusSurvey,
    metrics: Iterable[Mapping[str, Any]],
    best: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Returns the content of ``summary.json`` but for the training's identity.

    Args:
        survey: of the sentences to train on.
        metrics: all records, see `metrics_of`.
        best: the held-out record of the lowest loss; None without held-out sentences.
    """
    first, last, num_sentences = _ends_of(metrics)
    return {
        "views": list(run.config.views),
        "objective": run.config.objective,
        "seed": run.config.seed,
        "epochs": run.config.epochs,
        "steps": run.num_steps,
        "train_sentences": survey.num_sentences,
        "held_out_measured": last["held_out"]["num_sentences"],
        "skipped": survey.skipped,
        "coverage": {**asdict(survey.coverage), "known_share": survey.coverage.known_share},
        "first_loss": first["train"]["loss"],
        "final_loss": last["train"]["loss"],
        "held_out": {"untrained": first["held_out"], "final": last["held_out"], "best": best},
        "kept": run.config.keep,
        "final_measures": _measures_of(last["train"]),
        "num_parameters": num_parameters(run.model),
        "seconds": round(run.seconds, 3),
        "sentences_per_second": round(num_sentences / run.seconds, 1),
        "peak_memory_gib": round(peak_memory_gib(run.device), 3),
        "device": str(run.device),
        "gemm": run.gemm,
        "ranks": run.num_ranks,
        "versions": versions(),
    }


def _measures_of(record: Mapping[str, Any]) -> dict[str, float]:
    """Returns what the objective itself measured at a step: temperature, orthonormality, …"""
    return {name: record[name] for name in MEASURES if name in record}


def _ends_of(
    metrics: Iterable[Mapping[str, Any]],
) -> tuple[dict[str, Mapping[str, Any]], dict[str, Mapping[str, Any]], int]:
    """Returns the first and the last record of each kind, and the sentences of all steps."""
    first: dict[str, Mapping[str, Any]] = {}
    last: dict[str, Mapping[str, Any]] = {}
    num_sentences = 0
    for record in metrics:
        first.setdefault(record["kind"], record)
        last[record["kind"]] = record
        num_sentences += record.get("sentences", 0)
    return first, last, num_sentences
