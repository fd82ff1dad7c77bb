"""The report's sections about the run: text, parsers, stages, versions, configuration."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from models.report.html.sections import (
    CodeBlock,
    Facts,
    Folded,
    Paragraph,
    Part,
    Section,
    Span,
    Table,
)
from models.report.markdown import count
from models.report.run.inputs import ReportInputs, StageRecord
from pipeline.base.bundled import BUNDLED_MODELS


def run_section(inputs: ReportInputs, trainings: Sequence[Mapping[str, Any]]) -> Section:
    """Returns what was run on what, by whom it can be repeated."""
    seeds = ", ".join(str(one["seed"]) for one in trainings)
    devices = ", ".join(dict.fromkeys(str(one["device"]) for one in trainings if "device" in one))
    facts: list[tuple[str, Span | None]] = [
        ("Text", inputs.corpus and f"{inputs.corpus.rstrip('.')}."),
        ("Training seeds", f"{seeds}."),
        ("Commit", f"{inputs.commit or 'not known (no git checkout)'}."),
        ("Versions", ", ".join(f"{name} {value}" for name, value in inputs.versions.items())),
        ("Machine", inputs.machine and f"{inputs.machine}; trained on {devices or 'cpu'}."),
    ]
    told = Facts(tuple((name, said) for name, said in facts if said))
    command: list[Part] = []
    if inputs.command is not None:
        command = [Paragraph.of("Command:"), CodeBlock(inputs.command, "sh")]
    return Section.of(
        "What was run",
        told,
        *command,
        _parsers(inputs.parsers),
    )


def _parsers(parsers: Sequence[Mapping[str, Any]]) -> Part:
    """Returns the parsers used and the scores of their cards."""
    if not parsers:
        return Paragraph.of("Parsers: none recorded.")
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
    return Table.of(caption, ("kind", "name", "checksum", "scores"), rows, 4)


def configuration_section(inputs: ReportInputs) -> Section:
    """Returns the resolved configuration of every stage."""
    configuration = json.dumps(inputs.config, indent=1, sort_keys=True, default=str)
    block = CodeBlock(configuration, "json")
    return Section.of("Configuration", Folded("Resolved configuration", (block,)))


def vectors_section(model: Path) -> Section:
    """Returns how sentences of one's own become vectors, by what ships and by the trained model."""
    encoders = [*BUNDLED_MODELS, shlex.quote(str(model))]
    commands = [f"treeviews encode {one} < sentences.txt > vectors.npy" for one in encoders]
    return Section.of(
        "Vectors of your own sentences",
        Paragraph.of(
            f"By what ships ({', '.join(BUNDLED_MODELS)}), and by the model that this run trained "
            "first; one sentence a line."
        ),
        CodeBlock("\n".join(commands), "sh"),
    )


def stages_section(stages: Sequence[StageRecord]) -> Section:
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
        Table.of("Stages, in the order in which they ran", header, rows, 3),
        Paragraph.of(
            "Rows are what a stage wrote or, in training, embedding and probing, worked through: "
            "sentences times epochs, encoders or rows of the table. A refused sentence stands in "
            "the stage's quarantine file with its reason. One not selected stands in the stage "
            "before and in no quarantine: this stage had no use for it, or it lacks a parse that a "
            "stage before refused. Seconds are summed over shards, so stages that ran side by side "
            "took less time on the clock."
        ),
        *(
            Paragraph.of(
                f"Of the paths of {stage.name} were not read: {by_reason(stage.left_out)}."
            )
            for stage in stages
            if stage.left_out
        ),
    )


def by_reason(counts: Mapping[str, int]) -> str:
    """Returns counts with their reasons as running text."""
    named = (f"{reason.replace('_', ' ')} {count(n)}" for reason, n in sorted(counts.items()) if n)
    return ", ".join(named) or "–"
