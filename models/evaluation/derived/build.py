"""Builds the derived tasks of a parsed corpus, or gives the reason why one is absent."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from models.config.held_out import HoldOut
from models.evaluation.derived.classes import Candidate
from models.evaluation.derived.declarations import (
    PROBING_TASKS,
    TASKS,
    DerivedTask,
    Family,
    in_declared_order,
    of_family,
)
from models.evaluation.derived.export import SENTEVAL_FOLDER, write_senteval_files
from models.evaluation.derived.held_out.altered_sentences import Alteration, read_plan
from models.evaluation.derived.held_out.config import SPLITS, ProbingConfig, text_key
from models.evaluation.derived.held_out.held_out_rows import (
    HeldOutRow,
    Parse,
    ParsedSentence,
    parsed_rows,
)
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


def read_held_out(
    corpus: ParsedFolders, altered: ParsedFolders, config: ProbingConfig
) -> tuple[HeldOutPart, HeldOutPart]:
    """Returns the held-out sentences of a parsed corpus, and all of its altered ones.

    A row that a parser could not take has a number but no parsed sentence, so the numbering does
    not depend on the parsers. Those of the corpus come first. An altered sentence keeps the place
    in the text that it was made from.

    Args:
        corpus: the parsed corpus.
        altered: the parsed output of ``make_altered_sentences``.

    Raises:
        FileNotFoundError: a stage is not complete.
        ValueError: the stages do not have the same rows, or the altered sentences were made from
            other held-out sentences.
    """
    plan = read_plan(altered.sentences)
    intact, changed = HeldOutPart(), HeldOutPart()
    places: dict[int, HeldOutRow] = {}
    for row, parse in _parsed(corpus, config.hold_out, config.max_sentences):
        places[row.dataset_row] = row
        if parse is not None:
            sentence = _sentence(intact.num_rows, row, row, parse, config)
            intact_in = plan.intact_in.get(row.dataset_row, frozenset())
            intact.parsed.append(replace(sentence, intact_in=intact_in))
        intact.num_rows += 1
    for row, parse in _parsed(altered, HoldOut(fraction=1.0)):
        alteration = plan.alterations[row.dataset_row]
        place = _place_of(alteration, places, altered)
        if parse is not None:
            sentence = _sentence(intact.num_rows + changed.num_rows, row, place, parse, config)
            changed.parsed.append(replace(sentence, alteration=alteration.kind))
        changed.num_rows += 1
    return intact, changed


def _place_of(
    alteration: Alteration, places: Mapping[int, HeldOutRow], altered: ParsedFolders
) -> HeldOutRow:
    if alteration.corpus_row not in places:
        raise ValueError(
            f"{altered.sentences}: made from row {alteration.corpus_row} of the corpus, which is "
            "not held out; alter the sentences again"
        )
    return places[alteration.corpus_row]


def _parsed(
    folders: ParsedFolders, hold_out: HoldOut, limit: int | None = None
) -> Iterator[tuple[HeldOutRow, Parse | None]]:
    stages = {"dependencies": folders.dependencies, "constituents": folders.constituents}
    return parsed_rows(folders.sentences, stages, hold_out, limit=limit)


def _sentence(
    number: int, row: HeldOutRow, place: HeldOutRow, parse: Parse, config: ProbingConfig
) -> ParsedSentence:
    """Returns the sentence of a row, at the place in the text that it has or was made from."""
    place_and_words = (place.document_id, place.sentence_index, row.tokens)
    return replace(
        ParsedSentence(number, *place_and_words, *parse),
        dataset_row=row.dataset_row,
        unit=config.hold_out.unit_of(place.document_id, place.sentence_index),
    )


SUMMARY_NAME = "probing.json"
FORMAT_VERSION = 5


def build_probing(
    corpus: ParsedFolders,
    altered: ParsedFolders,
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
        altered: the parsed output of ``make_altered_sentences``.
        out: folder to write.
        parsers: checksum of each stage's parser, where it parsed exactly and is known: encoders
            that read by the same parsers take the sentences' parses as they are.

    Returns:
        The summary: classes, counts and chance of each task, absent tasks with reasons, counts
        of sentences left out by family of tasks, and the configuration.

    Raises:
        FileNotFoundError: a stage is not complete.
        ValueError: no sentence is left, too few for any probing task, or the stages do not fit
            together.
    """
    intact, changed = read_held_out(corpus, altered, config)
    excluded: dict[Family, Counter[str]] = {
        "probing": Counter(no_parse=intact.num_without_parse + changed.num_without_parse),
        "discourse": Counter(no_parse=intact.num_without_parse),
    }
    usable: dict[Family, list[ParsedSentence]] = {
        "probing": _usable([*intact.parsed, *changed.parsed], excluded["probing"], config),
        "discourse": _usable(intact.parsed, excluded["discourse"]),
    }
    sentences = usable["probing"]
    if not sentences:
        counts = ", ".join(f"{why} {count:,}" for why, count in excluded["probing"].items())
        raise ValueError(
            f"{corpus.sentences}: no held-out sentence is left for probing "
            f"({counts}); {config.hold_out.remedy} or give a larger corpus"
        )
    built = _build_tasks(usable, config)
    if not of_family(built.tasks, "probing"):
        raise ValueError(f"{corpus.sentences}: {_shortfall(built, len(sentences), config)}")
    summary = {
        "format_version": FORMAT_VERSION,
        "config": config.to_dict(),
        "tasks": built.tasks,
        "absent": built.absent,
        "num_rows": intact.num_rows + changed.num_rows,
        "num_usable": {family: len(found) for family, found in usable.items()},
        "excluded": {family: dict(sorted(found.items())) for family, found in excluded.items()},
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
class _Built:
    tasks: dict[str, Any] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    available: dict[str, int] = field(default_factory=dict)
    """Sentences that each task's balanced classes could take."""
    chosen: dict[str, Chosen] = field(default_factory=dict)


def _build_tasks(
    usable: Mapping[Family, Sequence[ParsedSentence]], config: ProbingConfig
) -> _Built:
    built = _Built()
    for task in TASKS:
        sentences, own = usable[task.family], config.of_share(task.share)
        candidates = task.candidates(sentences, config)
        built.available[task.name] = num_available(task, candidates, own)
        shares = split_shares(built.available[task.name], own)
        splits = SPLITS_BY[task.split_by](candidates, shares, config)
        by_split: dict[str, list[Candidate]] = defaultdict(list)
        for candidate in candidates:
            by_split[splits.of(candidate)].append(candidate)
        chosen, reason = choose(task, by_split, own)
        if reason is None:
            chosen, reason = _finished(task, chosen, config)
        if reason is not None:
            built.absent[task.name] = reason
            continue
        described = _describe(task, chosen, splits.unit, config)
        num_chosen = sum(described["sizes"].values())
        described["left_out"] = {
            "no_item": len(sentences) - len(candidates),
            "not_drawn": len(candidates) - num_chosen,
        }
        built.tasks[task.name] = described
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


def _shortfall(built: _Built, num_usable: int, config: ProbingConfig) -> str:
    """Returns what the task with the most sentences lacks, and what would give it them."""
    nearest = max(of_family(built.absent, "probing"), key=lambda name: built.available[name])
    fields = ("min_train", "min_dev", "min_test", "min_class_train")
    halved = json.dumps({name: max(1, getattr(config, name) // 2) for name in fields})
    return (
        f"{num_usable} usable held-out sentences are too few for any of the {len(PROBING_TASKS)} "
        f"probing tasks. The nearest, {nearest}, has {built.available[nearest]} after balancing: "
        f"{built.absent[nearest]}. Give more text, {config.hold_out.remedy}, or accept smaller "
        f"tasks, such as --probing-changes '{halved}'"
    )


def _usable(
    sentences: Iterable[ParsedSentence],
    excluded: Counter[str],
    limits: ProbingConfig | None = None,
) -> list[ParsedSentence]:
    """Returns the first sentence of each text, counting the others; None limits no length."""
    seen: set[str] = set()
    usable: list[ParsedSentence] = []
    for sentence in sentences:
        text = text_key(sentence.tokens)
        if limits is not None and not limits.takes_length(len(sentence.tokens)):
            excluded["outside_length_limits"] += 1
        elif text in seen:
            excluded["duplicate_text"] += 1
        else:
            seen.add(text)
            usable.append(sentence)
    return usable


def _describe(
    task: DerivedTask, chosen: Chosen, split_by: str, config: ProbingConfig
) -> dict[str, Any]:
    counts = {split: Counter(c.label for c in chosen[split]) for split in SPLITS}
    train = [c.sentence for c in chosen["train"]]
    test = [c.sentence for c in chosen["test"]]
    commonest = min(counts["train"], key=lambda label: (-counts["train"][label], label))
    units = [sentence.unit for sentence in test]
    by_unit = draws_units(units)
    return {
        "description": task.description,
        "label_rule": task.label_rule,
        "family": task.family,
        "citation": task.citation,
        "differs": task.differs,
        "published_chance": task.published_chance,
        "balance": task.balance,
        "split_by": split_by,
        "classes": sorted(counts["train"]),
        "counts": {split: dict(sorted(counts[split].items())) for split in SPLITS},
        "sizes": {split: len(chosen[split]) for split in SPLITS},
        # Of the test sentences, those that the commonest class of the training split is right on.
        "chance": 100.0 * counts["test"][commonest] / len(test),
        "resampled_by": config.held_out_unit if by_unit else "sentence",
        "num_resampled": len(set(units) if by_unit else {sentence.row for sentence in test}),
        "measures": {name: measure(train) for name, measure in task.measures.items()},
    }
