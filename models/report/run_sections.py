"""What a report is made of, and its sections about the run: corpus, parsers, training, versions.

Everything is a plain path or mapping; no task and no model.
"""

from __future__ import annotations

import json
import platform
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from models.evaluation.derived.held_out.altered_sentences import NOT_SELECTED
from models.report.markdown import (
    bullets,
    code_block,
    count,
    duration,
    markdown_table,
    percent,
    section,
)
from models.report.probing_table import RowFiles
from models.report.training_effect import meaning_of_accuracy
from pipeline.base.bundled import BUNDLED_MODELS
from pipeline.base.foreign_text import escaped_markdown
from pipeline.shards.manifests import DatasetManifest


@dataclass(frozen=True, slots=True)
class StageRecord:
    """One stage of the run."""

    name: str
    """As a person would call it: ``dependencies (altered sentences)``, ``training``."""
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

    @classmethod
    def of_dataset(cls, name: str, manifest: DatasetManifest) -> StageRecord:
        """Returns the record of a stage that wrote shards."""
        not_selected: Counter[str] = Counter()
        for shard in manifest.shards:
            not_selected.update(shard.extra.get(NOT_SELECTED, {}))
        left_out = manifest.config.get("left_out", {})
        return cls(
            name, manifest.rows, manifest.seconds, manifest.drops, dict(not_selected), left_out
        )


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """Everything that a report says something about."""

    config: Mapping[str, Any]
    """The resolved configuration of the run; ``seed`` among it where there is one."""
    stages: tuple[StageRecord, ...]
    """In the order in which they ran."""
    training_folder: Path
    """With ``summary.json`` and ``metrics.jsonl``; of the first training seed."""
    probing_folder: Path
    rows: tuple[RowFiles, ...]
    """Results of the rows of the probing table, in its order."""
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


PACKAGES = ("treeviews", "torch", "numpy", "pyarrow", "luigi", "spacy", "supar", "benepar")


def installed_versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Returns the version of Python and of each package, ``not installed`` where it is absent."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def run_section(inputs: ReportInputs) -> str:
    """Returns what ran: configuration, commit, versions."""
    versions = [[name, value] for name, value in inputs.versions.items()]
    configuration = json.dumps(inputs.config, indent=1, sort_keys=True, default=str)
    return section(
        "What ran",
        f"Commit: {inputs.commit or 'not known (no git checkout)'}.",
        markdown_table(["package", "version"], versions, num_text_columns=2) if versions else "",
        "Resolved configuration:",
        code_block(configuration, "json"),
    )


def vectors_section(model: Path) -> str:
    """Returns how sentences of one's own become vectors, by what ships and by the trained model."""
    encoders = [*BUNDLED_MODELS, shlex.quote(str(model))]
    commands = [f"treeviews encode {one} < sentences.txt > vectors.npy" for one in encoders]
    return section(
        "Vectors of your own sentences",
        f"By what ships ({', '.join(BUNDLED_MODELS)}), and by the model that this run trained "
        "first; one sentence a line.",
        code_block("\n".join(commands), "sh"),
    )


def corpus_section(stages: Sequence[StageRecord]) -> str:
    """Returns rows, seconds and rates of each stage, and what it left out, by reason."""
    rows = [
        [
            stage.name,
            count(stage.rows),
            _by_reason(stage.drops),
            _by_reason(stage.not_selected),
            f"{stage.seconds:.1f}",
            count(round(stage.rows / stage.seconds)) if stage.seconds > 0 else "–",
        ]
        for stage in stages
    ]
    return section(
        "Stages",
        markdown_table(["stage", "rows", "refused", "not selected", "seconds", "rows/s"], rows),
        "Rows are what a stage wrote or, in training, embedding and probing, worked through: "
        "sentences times epochs, encoders or rows of the table. A refused sentence stands in the "
        "stage's quarantine file with its reason. One not selected stands in the stage before and "
        "in no quarantine: this stage had no use for it, or it lacks a parse that a stage before "
        "refused. Seconds are summed over shards, so stages that ran side "
        "by side took less time on the clock.",
        *(
            escaped_markdown(
                f"Of the paths of {stage.name} were not read: {_by_reason(stage.left_out)}."
            )
            for stage in stages
            if stage.left_out
        ),
    )


def _by_reason(counts: Mapping[str, int]) -> str:
    named = (f"{reason.replace('_', ' ')} {count(n)}" for reason, n in sorted(counts.items()) if n)
    return ", ".join(named) or "–"


def parsers_section(parsers: Sequence[Mapping[str, Any]]) -> str:
    """Returns the parsers used and the scores of their cards."""
    if not parsers:
        return section("Parsers", "None recorded.")
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
    return section(
        "Parsers", markdown_table(["kind", "name", "checksum", "scores"], rows, num_text_columns=4)
    )


def origin(inputs: ReportInputs) -> list[str]:
    """Returns what text the report is about and how to repeat it, or nothing where not given."""
    text = (
        [] if inputs.corpus is None else [f"Text: {escaped_markdown(inputs.corpus.rstrip('.'))}."]
    )
    if inputs.command is None:
        return [f"What was run. {told}" for told in text]
    return [
        f"What was run. {' '.join([*text, 'Command:'])}",
        code_block(inputs.command, "sh"),
    ]


def training_section(trainings: Sequence[Mapping[str, Any]], chances_differ: bool) -> str:
    """Returns the training's summary and the held-out accuracy beside chance.

    Args:
        trainings: summaries of the same training from one or several seeds.
        chances_differ: whether training and held-out batches differ in their candidates.
    """
    summary = trainings[0]
    skipped = ", ".join(f"{reason} {count(n)}" for reason, n in summary["skipped"].items())
    facts = [
        f"{count(summary['train_sentences'])} training sentences ({skipped or 'none'} skipped), "
        f"{count(summary['held_out_measured'])} held-out ones measured; "
        f"{count(summary['steps'])} steps in "
        f"{summary['epochs']} epochs, {duration(summary['seconds'])}, "
        f"{count(round(summary['sentences_per_second']))} sentences/s",
        f"{count(summary['num_parameters'])} trained parameters",
        f"{percent(100 * summary['coverage']['known_share'])} % of the training tokens have a word "
        "vector",
        f"loss {summary['first_loss']:.3f} at the first step, {summary['final_loss']:.3f} at the "
        "last",
    ]
    return section(
        "Training",
        bullets(facts),
        "![loss and accuracy](loss.png)",
        "Training and held-out batches have different numbers of candidates, as their chances "
        "show, so their losses are not to be compared with each other."
        if chances_differ
        else "",
        f"### Held-out accuracy\n\n{meaning_of_accuracy(summary['objective'])}",
        _context_table(trainings),
    )


def _context_table(trainings: Sequence[Mapping[str, Any]]) -> str:
    measured = [("untrained", trainings[0]["held_out"]["untrained"])]
    for one in trainings:
        name = f"trained, seed {one['seed']}" if len(trainings) > 1 else "trained"
        measured.append((name, one["held_out"]["final"]))
    rows = [
        [
            name,
            f"{100 * found['accuracy']:.2f}",
            f"{100 * found['chance']:.2f}",
            f"{chance_ratio(found):.1f}",
            f"{found['loss']:.3f}",
            count(found["num_anchors"]),
        ]
        for name, found in measured
    ]
    header = ["encoder", "accuracy, %", "chance, %", "× chance", "loss", "anchors"]
    return markdown_table(header, rows)


def chance_ratio(measured: Mapping[str, Any]) -> float:
    """Returns how many times chance a context accuracy is; 0 where nothing was measured."""
    chance = float(measured["chance"])
    return float(measured["accuracy"]) / chance if chance > 0 else 0.0
