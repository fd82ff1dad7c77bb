"""Writes the report of a run: a page, Markdown, JSON, and the drawings."""

from __future__ import annotations

import json
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from treeviews.models.evaluation.build_probing import read_summary
from treeviews.models.report.evaluation_table import PublishedColumn, evaluation_sections
from treeviews.models.report.probing_section import notes_section, probing_section, statement
from treeviews.models.report.probing_table import (
    AVERAGE,
    ProbingRow,
    ProbingTable,
    RowDeclaration,
    majority_row,
    read_rows,
)
from treeviews.models.report.score_text import by_reason, count
from treeviews.models.report.sections import (
    CodeBlock,
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
    chance_ratio,
    effect_of_training,
    training_section,
)
from treeviews.models.training.training_records import METRICS_FILE, SUMMARY_FILE, read_metrics
from treeviews.pipeline.base.atomic_files import write_json_atomically, write_text_atomically
from treeviews.pipeline.base.bundled import BUNDLED_MODELS
from treeviews.pipeline.base.json_files import check_file, read_object
from treeviews.pipeline.base.machine import processor

REPORT_VERSION = 15
"""Raised when the same results would give another report."""
PAGE_NAME = "report.html"
REPORT_NAME = "report.md"
MARKER_NAME = "report.json"
_TRAIN_AGAIN = "delete the training's folder and run it again"
_READ_OF_SUMMARY = (
    *("train_sentences", "held_out_measured", "steps", "epochs", "seconds", "num_parameters"),
    *("sentences_per_second", "coverage", "first_loss", "final_loss", "objective", "held_out"),
    *("skipped", "seed", "views"),
)
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
    training_folder: Path
    """With ``summary.json`` and ``metrics.jsonl``; of the first training seed."""
    probing_folder: Path
    rows: Mapping[RowDeclaration, Sequence[Path]]
    """The rows of the probing table in its order, each with its files of results."""
    parsers: tuple[Mapping[str, Any], ...] = ()
    """``kind``, ``name``, ``checksum`` and, where the card has them, ``scores`` of each parser."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """By package; see `installed_versions`."""
    commit: str | None = None
    further_training_folders: tuple[Path, ...] = ()
    """Of the other training seeds, where there are any."""
    title: str = "Treeviews: report of a run"
    corpus: str | None = None
    """The text that was read, as a person would name it: ``python-docs, CPython 3.11.7``."""
    command: str | None = None
    """The command line that repeats the run."""
    machine: str | None = None
    """On which the report was written; see `machine_in_words`."""
    senteval: tuple[Path, ...] = ()
    """Folders of results on SentEval's tasks, one an encoder and seed; none where not scored."""
    published: tuple[PublishedColumn, ...] = ()
    """What papers report on these tasks."""


def installed_versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Returns the version of Python and of each package, ``not installed`` where it is absent."""
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def machine_in_words() -> str:
    """Returns system, processor and cores of this machine; not its name."""
    cores = os.cpu_count() or 1
    plural = "s" if cores > 1 else ""
    return f"{platform.system()} {platform.machine()}, {cores} core{plural} of {processor()}"


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
    folders = (inputs.training_folder, *inputs.further_training_folders)
    trainings, metrics = zip(*map(_read_training, folders), strict=True)
    probing, rows = read_summary(inputs.probing_folder), read_rows(inputs.rows)
    table = ProbingTable((*rows, majority_row(rows[0], probing)))
    headline = [effect_of_training(trainings).headline, statement(table, probing)]
    sections = [
        _run_section(inputs, trainings),
        _stages_section(inputs.stages),
        training_section(trainings, metrics),
        probing_section(table, probing),
        *([_senteval_section(inputs)] if inputs.senteval else []),
        notes_section(table, probing),
        _vectors_section(inputs.training_folder),
        _configuration_section(inputs.config),
    ]
    page = Page(inputs.title, headline, sections)
    out.mkdir(parents=True, exist_ok=True)
    for drawing in (drawing for section in sections for drawing in section.drawings):
        write_text_atomically(out / f"{drawing.name}.svg", drawing.svg)
    write_text_atomically(out / REPORT_NAME, markdown_page(page))
    write_text_atomically(out / PAGE_NAME, html_page(page))
    as_json = {"headline": headline, "probing": probing, **_as_json(inputs, trainings, table)}
    write_json_atomically(out / MARKER_NAME, as_json)
    return out / PAGE_NAME


def _read_training(folder: Path) -> tuple[Summary, Records]:
    """Returns what a training says of itself, and what it logged."""
    summary, metrics = folder / SUMMARY_FILE, folder / METRICS_FILE
    if not summary.exists():
        raise FileNotFoundError(f"{summary}: this training is not complete; run it again")
    training = read_object(summary, _READ_OF_SUMMARY, remedy=_TRAIN_AGAIN)
    if not metrics.exists():
        raise FileNotFoundError(f"{metrics}: the training left no metrics; run it again")
    check_file(metrics, training, _TRAIN_AGAIN)
    return training, list(read_metrics(metrics))


# Sections about the run.


def _run_section(inputs: ReportInputs, trainings: Sequence[Summary]) -> Section:
    """Returns what was run on what, by whom it can be repeated."""
    devices = dict.fromkeys(str(one["device"]) for one in trainings if "device" in one)
    facts = {
        "Text": inputs.corpus and f"{inputs.corpus.rstrip('.')}.",
        "Training seeds": f"{', '.join(str(one['seed']) for one in trainings)}.",
        "Commit": f"{inputs.commit or 'not known (no git checkout)'}.",
        "Versions": ", ".join(f"{name} {value}" for name, value in inputs.versions.items()),
        "Machine": inputs.machine
        and f"{inputs.machine}; trained on {', '.join(devices) or 'cpu'}.",
    }
    return Section.of(
        "What was run",
        {name: fact for name, fact in facts.items() if fact},
        *(() if inputs.command is None else ("Command:", CodeBlock(inputs.command, "sh"))),
        _parsers(inputs.parsers) if inputs.parsers else None,
    )


def _parsers(parsers: Sequence[Mapping[str, Any]]) -> Table:
    """Returns the parsers used and the scores of their cards."""
    rows = [
        [
            str(parser.get("kind", "–")),
            str(parser.get("name", "–")),
            str(parser.get("checksum", "–"))[:12],
            ", ".join(f"{key} {value}" for key, value in (parser.get("scores") or {}).items())
            or "none in its card",
        ]
        for parser in parsers
    ]
    caption = "Parsers, with the scores that their cards give"
    return Table(caption, ("kind", "name", "checksum", "scores"), rows, range(4))


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
        "Rows are what a stage wrote or, in training, embedding and probing, worked through: "
        "sentences times epochs, encoders or rows of the table. A refused sentence stands in "
        "the stage's quarantine file with its reason. One not selected stands in the stage "
        "before and in no quarantine: this stage had no use for it, or it lacks a parse that a "
        "stage before refused. Seconds are summed over shards, so stages that ran side by side "
        "took less time on the clock.",
        *(
            f"Of the paths of {stage.name} were not read: {by_reason(stage.left_out)}."
            for stage in stages
            if stage.left_out
        ),
    )


def _senteval_section(inputs: ReportInputs) -> Section:
    """Returns the scores on SentEval's tasks, with papers' figures behind them where given."""
    first, *further = evaluation_sections(inputs.senteval, published=inputs.published)
    folded = (Folded(section.title, section.parts) for section in further)
    title, about = "SentEval", "SentEval's tasks, scored as published."
    if inputs.published:
        title = "Published beside measured"
        about = (
            "SentEval's tasks, scored as published; a paper's figures are of another corpus and "
            "size, as the notes say, and no test compares them with ours."
        )
    return Section.of(title, about, *first.parts, *folded)


def _vectors_section(model: Path) -> Section:
    """Returns how sentences of one's own become vectors, by what ships and by the trained model."""
    encoders = [*BUNDLED_MODELS, shlex.quote(str(model))]
    commands = [f"treeviews encode {one} < sentences.txt > vectors.npy" for one in encoders]
    return Section.of(
        "Vectors of your own sentences",
        f"By what ships ({', '.join(BUNDLED_MODELS)}), and by the model that this run trained "
        "first; one sentence a line.",
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
    given = ("config", "corpus", "command", "commit", "machine", "versions", "parsers")
    return {
        **{name: getattr(inputs, name) for name in given},
        "stages": [asdict(stage) for stage in inputs.stages],
        "report_version": REPORT_VERSION,
        "training": trainings[0],
        "further_trainings": trainings[1:],
        "effect_of_training": asdict(effect_of_training(trainings)),
        "held_out_accuracy_over_chance": chance_ratio(trainings[0]["held_out"]["final"]),
        "rows": [_row_as_json(row) for row in table.rows],
        "random_weights": table.random and asdict(table.random),
        "trained_seeds": table.trained and asdict(table.trained),
        "comparisons": [asdict(comparison) for comparison in table.comparisons],
        "marks": {
            "baseline": table.baseline,
            "rows": {
                row: {"tasks": {task: marks[task] for task in table.tasks}, AVERAGE: marks[AVERAGE]}
                for row, marks in table.marks.items()
            },
        },
    }


def _row_as_json(row: ProbingRow) -> dict[str, Any]:
    """Returns a row without its answers to single items, which stand in the result files."""
    tasks = {
        task: {
            "accuracy": asdict(result.scores["accuracy"]),
            "counts": dict(result.outcome.counts),
            "dev_accuracy": result.outcome.dev_score,
            "regularisers": list(result.outcome.regularisers),
            "at_grid_edge": result.outcome.at_grid_edge,
            "not_converged": result.outcome.not_converged,
            **result.outcome.details,
            "seconds": dict(result.seconds),
        }
        for task, result in row.results.items()
    }
    result = {"tasks": tasks, "average": asdict(row.average), "width": row.width}
    first = next(iter(row.results.values()))
    used = {
        "representation": first.setup.representation,
        "classifier": first.setup.classifier,
        "declared_by_data": dict(first.data.protocol),
    }
    return {"name": row.name, "description": row.description, "result": result, "config": used}
