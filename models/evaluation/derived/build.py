"""Builds the derived tasks of a parsed corpus, or gives the reason why one is absent."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from models.evaluation.derived.classes import Candidate
from models.evaluation.derived.declarations import (
    TASKS,
    DerivedTask,
    in_declared_order,
)
from models.evaluation.derived.export import SENTEVAL_FOLDER, write_senteval_files
from models.evaluation.derived.held_out.config import SPLITS, ProbingConfig, text_key
from models.evaluation.derived.held_out.held_out_rows import ParsedSentence, parsed_rows
from models.evaluation.derived.splits import (
    SPLITS_BY,
    Chosen,
    choose,
    num_available,
    split_shares,
)
from models.evaluation.statistics.resampling import draws_units
from pipeline.base.json_files import read_object, write_sealed_json


@dataclass(frozen=True, slots=True)
class ParsedFolders:
    """The three stages of one parsed corpus: same shards, same rows."""

    sentences: Path
    dependencies: Path
    constituents: Path


@dataclass(slots=True)
class HeldOutPart:
    """The held-out rows of one dataset that have both parses, and how many rows there are."""

    parsed: list[ParsedSentence] = field(default_factory=list)
    num_rows: int = 0

    @property
    def num_without_parse(self) -> int:
        """Rows that a parser could not take."""
        return self.num_rows - len(self.parsed)


def read_held_out(corpus: ParsedFolders, config: ProbingConfig) -> HeldOutPart:
    """Returns the held-out sentences of a parsed corpus.

    A row that a parser could not take has a number but no parsed sentence, so the numbering does
    not depend on the parsers.

    Raises:
        FileNotFoundError: a stage is not complete.
        ValueError: the stages do not have the same rows.
    """
    stages = {"dependencies": corpus.dependencies, "constituents": corpus.constituents}
    rows = parsed_rows(corpus.sentences, stages, config.hold_out, limit=config.max_sentences)
    part = HeldOutPart()
    for row, parse in rows:
        if parse is not None:
            place = (row.document_id, row.sentence_index)
            unit = config.hold_out.unit_of(*place)
            sentence = ParsedSentence(part.num_rows, *place, row.tokens, *parse)
            part.parsed.append(replace(sentence, dataset_row=row.dataset_row, unit=unit))
        part.num_rows += 1
    return part


SUMMARY_NAME = "probing.json"
FORMAT_VERSION = 6


def build_probing(
    corpus: ParsedFolders,
    out: Path,
    config: ProbingConfig,
    *,
    parsers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Writes the derived tasks of a corpus's held-out documents.

    ``senteval/`` holds the items in SentEval's format, with their sentences' documents and parses
    (see ``export``), and ``probing.json`` the summary, written last: without it the data do not
    exist.

    Args:
        corpus: the parsed corpus.
        out: folder to write.
        parsers: checksum of each stage's parser, where it parsed exactly and is known: encoders
            that read by the same parsers take the sentences' parses as they are.

    Returns:
        The summary: classes, counts and chance of each task, absent tasks with reasons, counts
        of sentences left out, and the configuration.

    Raises:
        FileNotFoundError: a stage is not complete.
        ValueError: no sentence is left, too few for any probing task, or the stages do not fit
            together.
    """
    held_out = read_held_out(corpus, config)
    sentences = _usable(held_out, config)
    if not sentences.probed:
        counts = ", ".join(f"{why} {count:,}" for why, count in sentences.excluded.items())
        raise ValueError(
            f"{corpus.sentences}: no held-out sentence is left for probing "
            f"({counts}); {config.hold_out.remedy} or give a larger corpus"
        )
    built = _build_tasks(sentences, config)
    if not built.tasks:
        raise ValueError(
            f"{corpus.sentences}: {len(sentences.probed)} usable held-out sentences are too few "
            f"for any of the {len(TASKS)} probing tasks; give more text, {config.hold_out.remedy}, "
            "or accept smaller tasks by --probing-changes (min_train, min_dev, min_test)"
        )
    summary = {
        "format_version": FORMAT_VERSION,
        "config": config.to_dict(),
        "tasks": built.tasks,
        "absent": built.absent,
        "num_rows": held_out.num_rows,
        "num_usable": len(sentences.probed),
        "excluded": dict(sorted(sentences.excluded.items())),
    }
    # A corpus's folder bears its name, and the digest of what its text was made from.
    name = corpus.sentences.resolve().parent.name
    write_senteval_files(
        out / SENTEVAL_FOLDER, built.chosen, built.absent, corpus=name, parsers=parsers or {}
    )
    write_sealed_json(out / SUMMARY_NAME, summary)
    return summary


def read_summary(folder: Path) -> dict[str, Any]:
    """Returns the summary of a complete probing folder.

    Raises:
        FileNotFoundError: the folder is not complete.
        ValueError: damaged, or written by another version.
    """
    path = folder / SUMMARY_NAME
    if not path.exists():
        raise FileNotFoundError(
            f"{folder}: no {SUMMARY_NAME}, so the probing data are not complete; build them again"
        )
    summary = read_object(path, ("tasks",), remedy="delete it and build the probing data again")
    if summary.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{path}: format version {summary.get('format_version')}, this release reads "
            f"{FORMAT_VERSION}; build the probing data again"
        )
    tasks = summary["tasks"]
    summary["tasks"] = {name: tasks[name] for name in in_declared_order(tasks)}
    return summary


@dataclass(slots=True)
class _Usable:
    """Held-out sentences that tasks take, none of them twice."""

    excluded: Counter[str]
    """Sentences in no task but those of any length, by reason."""
    probed: list[ParsedSentence] = field(default_factory=list)
    """Within the limits of length."""
    of_any_length: list[ParsedSentence] = field(default_factory=list)


@dataclass(slots=True)
class _Built:
    tasks: dict[str, Any] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    chosen: dict[str, Chosen] = field(default_factory=dict)


def _build_tasks(usable: _Usable, config: ProbingConfig) -> _Built:
    built = _Built()
    for task in TASKS:
        sentences = usable.of_any_length if task.any_length else usable.probed
        candidates = task.candidates(sentences, config)
        shares = split_shares(num_available(task, candidates, config), config)
        splits = SPLITS_BY[task.split_by](candidates, shares, config)
        by_split: dict[str, list[Candidate]] = defaultdict(list)
        for candidate in candidates:
            by_split[splits.of(candidate)].append(candidate)
        chosen, reason = choose(task, by_split, config)
        if reason is None:
            chosen, reason = _finished(task, chosen, config)
        if reason is not None:
            built.absent[task.name] = reason
            continue
        built.tasks[task.name] = _describe(task, chosen, splits.unit, config)
        built.chosen[task.name] = chosen
    return built


def _finished(
    task: DerivedTask, chosen: Chosen, config: ProbingConfig
) -> tuple[Chosen, str | None]:
    """Returns the items as they are written, and why the task is absent or None."""
    if task.finish is None:
        return chosen, None
    finished: Chosen = {}
    for split, candidates in chosen.items():
        found = task.finish(candidates, config)
        if found is None:
            return {}, f"the {split} items are of one document, and two are needed"
        finished[split] = found
    return finished, None


def _usable(held_out: HeldOutPart, limits: ProbingConfig) -> _Usable:
    """Returns the first sentence of each text, counting the others."""
    usable = _Usable(excluded=Counter(no_parse=held_out.num_without_parse))
    seen: set[str] = set()
    for sentence in held_out.parsed:
        text = text_key(sentence.tokens)
        is_first = text not in seen
        seen.add(text)
        if is_first:
            usable.of_any_length.append(sentence)
        if not limits.takes_length(len(sentence.tokens)):
            usable.excluded["outside_length_limits"] += 1
        elif is_first:
            usable.probed.append(sentence)
        else:
            usable.excluded["duplicate_text"] += 1
    return usable


def _describe(
    task: DerivedTask, chosen: Chosen, split_by: str, config: ProbingConfig
) -> dict[str, Any]:
    counts = {split: Counter(c.label for c in chosen[split]) for split in SPLITS}
    test = [c.sentence for c in chosen["test"]]
    commonest = min(counts["train"], key=lambda label: (-counts["train"][label], label))
    units = [sentence.unit for sentence in test]
    by_unit = draws_units(units)
    return {
        "label_rule": task.label_rule,
        "differs": task.differs,
        "balance": task.balance,
        "split_by": split_by,
        "classes": sorted(counts["train"]),
        "counts": {split: dict(sorted(counts[split].items())) for split in SPLITS},
        "sizes": {split: len(chosen[split]) for split in SPLITS},
        # Of the test sentences, those that the commonest class of the training split is right on.
        "chance": 100.0 * counts["test"][commonest] / len(test),
        "resampled_by": config.held_out_unit if by_unit else "sentence",
        "num_resampled": len(set(units) if by_unit else {sentence.row for sentence in test}),
    }
