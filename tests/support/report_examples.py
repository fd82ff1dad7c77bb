"""Inputs of a report, made by hand: summaries, metrics, and results of rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from treeviews.models.evaluation import probing_tasks as declarations
from treeviews.models.evaluation.build_probing import FORMAT_VERSION
from treeviews.models.evaluation.scores import Outcome, Predictions
from treeviews.models.evaluation.task_registry import task_named
from treeviews.models.evaluation.task_result import (
    DataRecord,
    EncoderIdentity,
    Setup,
    result_path,
    scored,
    write_result,
)
from treeviews.models.report.probing_table import ProbingRow, RowDeclaration
from treeviews.models.report.run_report import ReportInputs, StageRecord
from treeviews.pipeline.base.bundled import BUNDLED_MODELS

HELD_OUT = {"accuracy": 0.06, "chance": 0.0025, "loss": 4.2, "num_anchors": 900}
SUMMARY = {
    "identity": "0", "steps": 40, "epochs": 2, "train_sentences": 8000, "held_out_measured": 3000,
    "skipped": {"no_parse": 3}, "coverage": {"known_share": 0.97}, "seconds": 50.0,
    "sentences_per_second": 320.0, "first_loss": 6.1, "final_loss": 4.0,
    "objective": "contrastive",
    "held_out": {"untrained": {**HELD_OUT, "accuracy": 0.003}, "final": HELD_OUT},
    "num_parameters": 123456, "views": ["DEP", "CONST"], "seed": 0, "peak_memory_gib": 0.5,
}  # fmt: skip
TASKS = ("sentence_length", "tense")
_CALLED = {task.name: task.evaluation_task for task in declarations.TASKS}


def task_summary(chance: float) -> dict[str, Any]:
    """Returns what a summary of probing data says of a task."""
    return {
        "label_rule": "a rule", "split_by": "document", "classes": ["a", "b"], "differs": "smaller",
        "sizes": {"train": 600, "dev": 100, "test": 300}, "chance": chance,
        "resampled_by": "document", "num_resampled": 100,
        "counts": {"train": {"a": 300, "b": 300}},
    }  # fmt: skip


def row(name: str, share: float, *, seed: int = 0) -> ProbingRow:
    """Returns a row that answers this share of 300 items a task rightly, three a document."""
    items = np.arange(300)
    gold = items % 2
    order = np.random.default_rng(seed).permutation(300)
    answers = Predictions(
        np.where(order < share * 300, gold, 1 - gold).astype(np.float64), gold.astype(np.float64),
        items * 0, clusters=items // 3,
    )  # fmt: skip
    outcome = Outcome(
        answers, {"train": 600, "dev": 100, "test": 300}, 8, 70.0, regularisers=(0.1,)
    )
    setup = Setup(EncoderIdentity(name, name), {}, {"classifier": "logistic_regression"})
    data = DataRecord("d0", "s0", derived_from="tales", protocol={"standardise": True})
    results = {
        task: scored(task_named(_CALLED[task]), setup, data, outcome, seconds={"fit": 0.2})
        for task in TASKS
    }
    return ProbingRow(f"row {name}", (results,), name)


def report_inputs(tmp_path: Path) -> ReportInputs:
    """Returns inputs without rows, their files in a folder."""
    training, probing = tmp_path / "model", tmp_path / "probing"
    training.mkdir()
    probing.mkdir()
    (training / "summary.json").write_text(json.dumps(SUMMARY))
    metrics = [{"kind": "held_out", "step": 0, **HELD_OUT}]
    metrics += [
        {"kind": "train", "step": s, "loss": 6 - s / 20, "in_batch_accuracy": s / 500,
         "chance": 0.0025, "learning_rate": 0.001 * s}
        for s in range(1, 41)
    ]  # fmt: skip
    (training / "metrics.jsonl").write_text("".join(json.dumps(m) + "\n" for m in metrics))
    (probing / "probing.json").write_text(
        json.dumps(
            {
                "format_version": FORMAT_VERSION,
                "tasks": {name: task_summary(50.0) for name in TASKS},
                "absent": {"object_number": "only 7 train sentences"},
                "excluded": {"no_parse": 4},
            }
        )
    )
    return ReportInputs(
        config={"seed": 5, "views": ["DEP", "CONST"]},
        stages=(StageRecord("sentences", 12000, 20.0, {"too_long": 7}, {"no_parse": 9}),),
        training_folders=(training,),
        probing_folder=probing,
        rows={},
        parsers=({"kind": "dependencies", "name": "bundled", "checksum": "f" * 64,
                  "scores": {"LAS": 83.1}},),
        corpus="harbour diaries",
        command="luigi RunAll --seed 5",
    )  # fmt: skip


def with_rows(inputs: ReportInputs, folder: Path, rows: Sequence[ProbingRow]) -> ReportInputs:
    """Returns the inputs with the results of rows, which are written into the folder."""
    written: dict[RowDeclaration, list[Path]] = {}
    for one in rows:
        place = folder / "rows" / one.name
        (results,) = one.seeds
        files = [result_path(place, result.task) for result in results.values()]
        for path, result in zip(files, results.values(), strict=True):
            write_result(path, result)
        written[RowDeclaration(one.name, one.title, "")] = files
    return replace(inputs, rows=written)


def usual_rows(*trained: float) -> list[ProbingRow]:
    """Returns rows as a run has them, the trained ones with these shares of right answers."""
    return [
        row("pair", trained[0]),
        *(row(f"pair_seed_{k}", share, seed=19 + k) for k, share in enumerate(trained) if k),
        row("view_0-DEP", trained[0] - 0.05),
        *(row(f"random_weights_{s}", 0.6 + 0.02 * s, seed=s) for s in range(3)),
        row("bag_of_words", 0.7, seed=7),
        row("bag_of_words_projected", 0.72, seed=8),
        row("sif", 0.71, seed=12),
        *(row(name, 0.77, seed=13) for name in BUNDLED_MODELS),
        row("pair_and_bag_of_words", 0.85, seed=9),
        row("random_and_bag_of_words", 0.75, seed=11),
    ]
