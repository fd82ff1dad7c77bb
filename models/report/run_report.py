"""Writes the report of a run: a page, Markdown, JSON, and the drawings."""

from __future__ import annotations

import json
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from treeviews.models.evaluation.averages import average_over_tasks
from treeviews.models.evaluation.build_probing import read_summary
from treeviews.models.evaluation.task_result import scored_results
from treeviews.models.model.card import current_commit
from treeviews.models.report.evaluation_table import evaluation_sections
from treeviews.models.report.figures import by_reason, count, number_of
from treeviews.models.report.probing_section import notes_section, probing_section, statement
from treeviews.models.report.probing_table import (
    AVERAGE,
    RANDOM_WEIGHTS,
    TRAINED,
    ProbingRow,
    ProbingTable,
    RowDeclaration,
)
from treeviews.models.report.sections import (
    CodeBlock,
    Drawing,
    Folded,
    Page,
    Section,
    Table,
    html_page,
    markdown_page,
)
from treeviews.models.report.training_section import (
    Records,
    Summary,
    effect_of_training,
    training_section,
)
from treeviews.models.training.training_job import METRICS_FILE, finished_summary, read_metrics
from treeviews.pipeline.base.atomic_files import write_json_atomically, write_text_atomically
from treeviews.pipeline.base.bundled import BUNDLED_MODELS
from treeviews.pipeline.base.json_files import check_file
from treeviews.pipeline.base.machine import processor
from treeviews.pipeline.base.settings import to_json

REPORT_VERSION = 17
"""Raised when the same results would give another report."""
PAGE_NAME = "report.html"
REPORT_NAME = "report.md"
MARKER_NAME = "report.json"
PACKAGES = ("treeviews", "torch", "numpy", "pyarrow", "luigi", "spacy", "supar", "benepar")


@dataclass(frozen=True, slots=True)
class StageRecord:
    """One stage of the run."""

    name: str
    """As a person would call it: ``dependencies``, ``training``."""
    rows: int
    """Rows it wrote, or sentences it worked through."""
    seconds: float
    """Its own time, summed over its shards."""
    drops: Mapping[str, int] = field(default_factory=dict)
    """Sentences it refused, by reason; they are in its quarantine files."""
    not_selected: Mapping[str, int] = field(default_factory=dict)
    """Sentences of the stage before that it does not use, by reason; they are in no quarantine."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Files and folders among the text's paths that it did not read, by reason."""


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """Everything that a report says something about, as plain paths, mappings and values."""

    config: Mapping[str, Any]
    """The resolved configuration of the run; ``seed`` among it where there is one."""
    stages: tuple[StageRecord, ...]
    """In the order in which they ran."""
    training_folders: tuple[Path, ...]
    """With ``summary.json`` and ``metrics.jsonl``, one a training seed."""
    probing_folder: Path
    rows: Mapping[RowDeclaration, Sequence[Path]]
    """The rows of the probing table in its order, each with its files of results."""
    corpus: str
    """The text that was read, as a person would name it: ``python-docs, CPython 3.11.7``."""
    command: str | None
    """The command line that repeats the run; None of one that a program made."""
    parsers: tuple[Mapping[str, Any], ...] = ()
    """``kind``, ``name``, ``checksum`` and, where the card has them, ``scores`` of each parser."""
    senteval: tuple[Path, ...] = ()
    """Folders of results on SentEval's tasks, one an encoder and seed; none where not scored."""


def provenance() -> dict[str, Any]:
    """Returns commit, releases and machine of this process; not the machine's name."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    cores = number_of(os.cpu_count() or 1, "core")
    machine = f"{platform.system()} {platform.machine()}, {cores} of {processor()}"
    return {"commit": current_commit(), "versions": versions, "machine": machine}


def write_report(out: Path, inputs: ReportInputs) -> Path:
    """Writes the report; ``report.json`` comes last and marks it complete.

    Args:
        out: folder to write.
        inputs: what it is made of.

    Returns:
        Path of ``report.html``.

    Raises:
        FileNotFoundError: the training, the probing data or a row is missing.
        ValueError: no row was given, or rows were scored on different tasks.
    """
    trainings, metrics = zip(*map(_read_training, inputs.training_folders), strict=True)
    probing = read_summary(inputs.probing_folder)
    table = ProbingTable(tuple(ProbingRow.read(*item) for item in inputs.rows.items()))
    origin = provenance()
    headline = [effect_of_training(trainings).headline, statement(table, probing)]
    sections = [
        _run_section(inputs, trainings, origin),
        _stages_section(inputs.stages),
        training_section(trainings, metrics),
        probing_section(table, probing),
        *([_senteval_section(inputs.senteval)] if inputs.senteval else []),
        notes_section(table, probing),
        _vectors_section(inputs.training_folders[0]),
        _configuration_section(inputs.config),
    ]
    page = Page("Treeviews: report of a run", headline, sections)
    out.mkdir(parents=True, exist_ok=True)
    for part in (part for section in sections for part in section.parts):
        if isinstance(part, Drawing):
            write_text_atomically(out / f"{part.name}.svg", part.svg)
    write_text_atomically(out / REPORT_NAME, markdown_page(page))
    write_text_atomically(out / PAGE_NAME, html_page(page))
    value = {"headline": headline, "probing": probing, **origin}
    value |= _as_json(inputs, trainings, table)
    write_json_atomically(out / MARKER_NAME, to_json(value))
    return out / PAGE_NAME


def _read_training(folder: Path) -> tuple[Summary, Records]:
    """Returns what a training says of itself, and what it logged."""
    summary = finished_summary(folder)
    if summary is None:
        raise FileNotFoundError(f"{folder}: this training is not complete; run it again")
    check_file(folder / METRICS_FILE, summary, "delete the training's folder and run it again")
    return summary, list(read_metrics(folder / METRICS_FILE))


# Sections about the run.


def _run_section(
    inputs: ReportInputs, trainings: Sequence[Summary], origin: Mapping[str, Any]
) -> Section:
    """Returns what was run on what, by whom it can be repeated."""
    devices = dict.fromkeys(str(summary.get("device", "cpu")) for summary in trainings)
    facts = {
        "Text": f"{inputs.corpus.rstrip('.')}.",
        "Training seeds": f"{', '.join(str(summary['seed']) for summary in trainings)}.",
        "Commit": f"{origin['commit'] or 'not known (no git checkout)'}.",
        "Versions": ", ".join(f"{name} {value}" for name, value in origin["versions"].items()),
        "Machine": f"{origin['machine']}; trained on {', '.join(devices)}.",
        **{f"Parser of {parser['kind']}": _parser(parser) for parser in inputs.parsers},
    }
    return Section.of(
        "What was run",
        facts,
        *(() if inputs.command is None else ("Command:", CodeBlock(inputs.command, "sh"))),
    )


def _parser(parser: Mapping[str, Any]) -> str:
    """Returns which parser was used, with the scores of its card."""
    scores = ", ".join(f"{name} {score}" for name, score in (parser["scores"] or {}).items())
    return f"{parser['name']}, checksum {str(parser['checksum'])[:12]}; {scores or 'no scores'}."


def _stages_section(stages: Sequence[StageRecord]) -> Section:
    """Returns rows, seconds and rates of each stage, and what it left out, by reason."""
    rows = [
        [
            stage.name,
            by_reason(stage.drops),
            by_reason(stage.not_selected),
            count(stage.rows),
            f"{stage.seconds:.1f}",
            count(round(stage.rows / stage.seconds)) if stage.seconds > 0 else "–",
        ]
        for stage in stages
    ]
    header = ("stage", "refused", "not selected", "rows", "seconds", "rows/s")
    return Section.of(
        "From documents to training",
        Table("Stages, in the order in which they ran", header, rows, range(3)),
        "Rows are those that a stage wrote or, in training, sentences times epochs. A refused "
        "sentence is in the quarantine file of the stage, with the reason. A sentence that is not "
        "selected is in no quarantine file: the stage does not use it, or it lacks a parse that an "
        "earlier stage refused. Seconds are summed over shards, so stages that ran in parallel "
        "took less time.",
        *(
            f"Paths of {stage.name} that were not read: {by_reason(stage.left_out)}."
            for stage in stages
            if stage.left_out
        ),
    )


def _senteval_section(folders: Sequence[Path]) -> Section:
    """Returns the scores on SentEval's tasks."""
    first, *further = evaluation_sections(folders)
    folded = (Folded(section.title, section.parts) for section in further)
    about = "SentEval's tasks, scored as published."
    return Section.of("SentEval", about, *first.parts, *folded)


def _vectors_section(model: Path) -> Section:
    """Returns how sentences of one's own become vectors, by what ships and by the trained model."""
    encoders = [*BUNDLED_MODELS, shlex.quote(str(model))]
    commands = [f"treeviews encode {name} < sentences.txt > vectors.npy" for name in encoders]
    return Section.of(
        "Vectors of your own sentences",
        f"With the bundled encoders ({', '.join(BUNDLED_MODELS)}) and the first model that this "
        "run trained; one sentence per line.",
        CodeBlock("\n".join(commands), "sh"),
    )


def _configuration_section(config: Mapping[str, Any]) -> Section:
    """Returns the resolved configuration of every stage."""
    block = CodeBlock(json.dumps(config, indent=1, sort_keys=True, default=str), "json")
    return Section.of("Configuration", Folded("Resolved configuration", (block,)))


# The same for programs.


def _as_json(
    inputs: ReportInputs, trainings: Sequence[Summary], table: ProbingTable
) -> dict[str, Any]:
    return {
        "config": inputs.config,
        "corpus": inputs.corpus,
        "command": inputs.command,
        "parsers": inputs.parsers,
        "stages": inputs.stages,
        "report_version": REPORT_VERSION,
        "training": trainings[0],
        "further_trainings": trainings[1:],
        "effect_of_training": effect_of_training(trainings),
        "rows": [_row_as_json(row) for row in table.rows],
        "random_weights": _seeds_as_json(table.over_seeds[RANDOM_WEIGHTS]),
        "trained_seeds": _seeds_as_json(table.over_seeds[TRAINED]),
        "comparisons": [
            {name: getattr(comparison, name) for name in ("first", "second", "difference", "tasks")}
            for comparison in table.comparisons
        ],
        "marks": {"baseline": table.baseline, "rows": table.marks},
    }


def _seeds_as_json(row: ProbingRow) -> dict[str, Any]:
    """Returns means and deviations over seeds, 0 for one seed; of the average over tasks first."""
    figures = {task: (each.value, each.deviation or 0.0) for task, each in row.figures.items()}
    average, deviation = figures.pop(AVERAGE)
    return {
        "num_seeds": len(row.seeds),
        "average": average,
        "deviation": deviation,
        "tasks": figures,
    }


def _row_as_json(row: ProbingRow) -> dict[str, Any]:
    """Returns a row without its answers to single items, which stand in the result files."""
    results = scored_results(row.seeds[0])
    tasks = {
        task: {
            "accuracy": result.scores["accuracy"],
            "counts": result.outcome.counts,
            "dev_accuracy": result.outcome.dev_score,
            "regularisers": result.outcome.regularisers,
            "at_grid_edge": result.outcome.at_grid_edge,
            "not_converged": result.outcome.not_converged,
        }
        for task, result in results.items()
    }
    result = {"tasks": tasks, "average": average_over_tasks(results), "width": row.width}
    return {"name": row.name, "description": row.title, "result": result}
