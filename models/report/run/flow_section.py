"""From documents to held-out sentences: how many came in, and why some did not go on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from models.config.views import needed_stages
from models.report.html.flow import Flow, FlowLink, FlowNode, flow
from models.report.html.sections import Figure, Paragraph, Section
from models.report.run.inputs import CorpusCounts, StageRecord
from models.report.run.run_sections import by_reason, stages_table
from models.report.training_effect import without_neighbour
from pipeline.shards.manifests import quarantine_path, read_dataset_manifest
from pipeline.shards.shards import read_row_groups

OTHERS = "for other reasons"
MOST_REASONS = 5
"""Of one step that are drawn by themselves; the table below the drawing has all."""
_PARSED = {1: "parsed", 2: "parsed twice"}
"""By how many parses the views read."""


def count_corpus(folders: Mapping[str, Path], views: Sequence[str]) -> CorpusCounts:
    """Returns how many documents and sentences a corpus has, and which lack a parse.

    A document's sentences follow one another, so that of a large corpus one name is kept at a
    time, and of the sentences without a parse those of one shard.

    Args:
        folders: by stage: ``sentences``, and the parses that there are.
        views: that were trained; parses that none of them reads are not looked at.
    """
    sentences = read_dataset_manifest(folders["sentences"], "sentences")
    parses = [folders[stage] for stage in needed_stages(views) if stage in folders]
    documents, last = 0, None
    unparsed: Counter[str] = Counter()
    for shard in sentences.shards:
        columns = ["document_id"]
        for table in read_row_groups(folders["sentences"], "sentences", shard.number, columns):
            for chunk in table["document_id"].chunks:
                runs = chunk.dictionary_decode().to_numpy(zero_copy_only=False)
                if len(runs):
                    documents += int((runs[1:] != runs[:-1]).sum()) + int(runs[0] != last)
                    last = runs[-1]
        unparsed.update(_reasons(parses, shard.number))
    return CorpusCounts(documents, sentences.rows, sentences.drops, dict(unparsed))


def _reasons(parses: Sequence[Path], number: int) -> Iterator[str]:
    """Yields why a shard's sentences lack one parse or both; the first reason of each."""
    refused: set[int] = set()
    for folder in parses:
        path = quarantine_path(folder, number)
        if not path.is_file():
            continue
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                if (row := int(record["row"])) not in refused:
                    refused.add(row)
                    yield str(record["reason"])


def flow_section(
    counts: CorpusCounts | None, training: Mapping[str, Any], stages: Sequence[StageRecord]
) -> Section:
    """Returns the drawing of what became of the text, and the table of the stages.

    Args:
        counts: of the corpus; None where they are not known, and nothing is drawn.
        training: summary of the first training.
        stages: of the run.
    """
    drawn = None if counts is None or not counts.sentences else _drawn(counts, training)
    return Section.of("From documents to training", drawn, *stages_table(stages))


def _drawn(counts: CorpusCounts, training: Mapping[str, Any]) -> Figure | Paragraph:
    used = training["train_sentences"] + training["held_out_measured"]
    usable = counts.sentences
    usable -= sum(counts.unparsed.values()) if needed_stages(training["views"]) else 0
    if used + sum(_skipped(training).values()) > usable:
        return Paragraph.of(
            f"Not drawn, for the numbers do not agree: training tells of {used:,} sentences that "
            f"it used, {by_reason(_skipped(training))} that it skipped; the corpus has {usable:,} "
            "that it could use. Has the corpus changed since?"
        )
    caption = (
        "Widths are numbers of sentences; what was refused may be a whole text, counted as "
        "one. Refused texts and sentences stand in quarantine files with their reasons; what is "
        "not used stands in the corpus."
    )
    if said := without_neighbour(training):
        caption += f" {said}."
    return Figure(caption, (flow(_flow(counts, training)),))


def _skipped(training: Mapping[str, Any]) -> dict[str, int]:
    """Returns what training skipped, by reason, beside what has no parse."""
    return {reason: n for reason, n in training["skipped"].items() if not reason.startswith("no_")}


def _flow(counts: CorpusCounts, training: Mapping[str, Any]) -> Flow:
    trained, held_out = training["train_sentences"], training["held_out_measured"]
    found = counts.sentences + sum(counts.refused.values())
    words = "sentences and refused texts" if counts.refused else "sentences found"
    steps = _Steps("found", 0, words, found, f"in {counts.documents:,} documents")
    steps.go_on("sentences", "sentences", counts.refused, "refused")
    if parses := needed_stages(training["views"]):
        steps.go_on("parsed", _PARSED[len(parses)], counts.unparsed, "not parsed")
    steps.split(
        {"trained on": trained, "held out and measured": held_out},
        {f"{reason} for training": n for reason, n in _skipped(training).items()},
        "not used",
    )
    return Flow(
        "sentence_flow",
        "From documents to training",
        f"{counts.documents:,} documents gave {counts.sentences:,} sentences; {trained:,} were "
        f"trained on, {held_out:,} held out and measured.",
        tuple(steps.nodes),
        tuple(steps.links),
    )


class _Steps:
    """Nodes and links, made step by step; what is lost leaves at each step by reason."""

    def __init__(self, first: str, column: int, words: str, value: int, small: str) -> None:
        self.nodes = [FlowNode(first, column, words, value, small)]
        self.links: list[FlowLink] = []
        self.last = self.nodes[0]

    def go_on(self, name: str, words: str, lost: Mapping[str, int], how: str) -> None:
        """Adds what remains after a step, and what the step lost."""
        remains = self.last.value - sum(lost.values())
        before, column = self.last, self.last.column + 1
        self.last = FlowNode(name, column, words, remains)
        self.nodes.append(self.last)
        self.links.append(FlowLink(before.id, name, remains))
        self._lose(before, lost, how)

    def split(self, into: Mapping[str, int], lost: Mapping[str, int], how: str) -> None:
        """Adds what the last node is divided into; what is left over is lost, too."""
        before = self.last
        for words, value in into.items():
            if value:
                self.nodes.append(FlowNode(words, before.column + 1, words, value))
                self.links.append(FlowLink(before.id, words, value))
        rest = before.value - sum(into.values()) - sum(lost.values())
        self._lose(before, {**lost, "other": int(rest)}, how)

    def _lose(self, before: FlowNode, lost: Mapping[str, int], how: str) -> None:
        ordered = sorted(((n, reason) for reason, n in lost.items() if n), reverse=True)
        shown, others = ordered[:MOST_REASONS], ordered[MOST_REASONS:]
        if others:
            shown.append((sum(n for n, _ in others), OTHERS))
        for n, reason in shown:
            words = reason.replace("_", " ")
            name = f"{before.id} {how} {words}"
            node = FlowNode(name, before.column + 1, f"{how}: {words}", n, is_loss=True)
            self.nodes.append(node)
            self.links.append(FlowLink(before.id, name, n))
