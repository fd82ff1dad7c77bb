"""160 hostile texts are split and parsed by both parsers: kept, or refused by place and reason.

What went in is counted against what came out, so that nothing hostile costs its neighbours. The
texts are split together, and apart only where together they end in an error or not at all.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from benchmarks.chaos.hostile_texts_table import TEXTS, WITNESS, HostileText
from benchmarks.chaos.trial import Options, Trial
from pipeline.base.bundled import BUNDLED_PARSERS
from pipeline.base.foreign_text import printable
from pipeline.inspect.row_checks import faults_in_rows
from pipeline.parsers.load import load_parser
from pipeline.parsing.parse_shard import PARSER_FAULTS, ParseJob, parse_shard
from pipeline.shards.manifests import quarantine_path
from pipeline.shards.shards import read_shard
from pipeline.sources.files import TextFiles
from pipeline.sources.opened_file import FilesConfig
from pipeline.text.split_corpus import split_sentences
from pipeline.text.tokenization import SentenceConfig

MOST_SECONDS = 600.0
EVERY_IN_QUICK = 8
ANY_NUMBER = -1
_PLAIN = "plain"
T = TypeVar("T")


@dataclass(slots=True)
class Found:
    """What became of one text."""

    kept: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def trials(options: Options) -> Iterator[Trial]:
    """Yields a trial a text."""
    chosen = TEXTS[::EVERY_IN_QUICK] if options.quick else TEXTS
    groups: dict[tuple[tuple[str, str], ...], list[HostileText]] = {}
    for text in chosen:
        groups.setdefault(tuple(sorted(text.settings.items())), []).append(text)
    for number, texts in enumerate(groups.values()):
        yield from _tried(texts, options.work / str(number))


def _tried(texts: Sequence[HostileText], work: Path) -> Iterator[Trial]:
    """Tries texts of equal settings together; where that fails, each half of them."""
    try:
        found = within(MOST_SECONDS, lambda: _found(texts, work))
    except Exception as error:
        if len(texts) == 1:
            outcome = printable(f"{type(error).__name__}: {error}")
            yield Trial(texts[0].what, survived=False, outcome=outcome)
            return
        half = len(texts) // 2
        yield from _tried(texts[:half], work.with_name(f"{work.name}a"))
        yield from _tried(texts[half:], work.with_name(f"{work.name}b"))
        return
    for text, one in zip(texts, found, strict=True):
        problems = [*_differences(text, one), *one.problems]
        outcome = f"kept {len(one.kept)}, refused {dict(one.refused)}"
        yield Trial(text.what, not problems, printable("; ".join([outcome, *problems])))


def within(seconds: float, work: Callable[[], T]) -> T:
    """Returns what some work returns.

    Raises:
        TimeoutError: it did not end in time; it is left behind.
    """
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise TimeoutError(f"no end within {seconds:.0f} seconds")
    return done[0]


def _differences(text: HostileText, found: Found) -> Iterator[str]:
    """Yields where a text became something else than its line says."""
    if text.kept not in (ANY_NUMBER, len(found.kept)):
        yield f"{text.kept} were to be kept"
    expected = Counter(text.refused)
    if expected != found.refused and not (text.kept == ANY_NUMBER and not expected):
        yield f"{dict(expected)} were to be refused"
    whole = text.kept > 0 and WITNESS.encode() in text.content
    if whole and WITNESS.rstrip(".").split() not in [row.split()[:-1] for row in found.kept]:
        yield "what follows the hostile was lost"


def _found(texts: Sequence[HostileText], work: Path) -> list[Found]:
    """Returns what became of each text, split and parsed together."""
    source = work / "texts"
    for number, text in enumerate(texts):
        folder = source / f"{number:03d}"
        folder.mkdir(parents=True)
        Path(os.fsdecode(os.fsencode(folder / text.name))).write_bytes(text.content)
    (source / _PLAIN).mkdir()
    # So that a source of which all is refused is no error here; empty lines say it in any mode.
    (source / _PLAIN / "text.txt").write_text("A plain line.\n", "utf-8")
    folder = work / "sentences"
    files = TextFiles([source], FilesConfig.from_dict(texts[0].settings))
    manifest = split_sentences(files, SentenceConfig(), folder)
    found = [Found() for _ in texts]
    for shard in manifest.shards:
        sentences = read_shard(folder, "sentences", shard.number)
        owners = [_owner(name) for name in sentences["document_id"].to_pylist()]
        for owner, tokens in zip(owners, sentences["tokens"].to_pylist(), strict=True):
            if owner is not None:
                found[owner].kept.append(" ".join(tokens))
        for record in _quarantine(folder, shard.number):
            owner = _owner(record["document_id"])
            if owner is not None:
                found[owner].refused[record["reason"]] += 1
                if not record["position"] or not (record["detail"] or record["excerpt"]):
                    found[owner].problems.append(f"refused without place or remedy: {record}")
        for stage in BUNDLED_PARSERS:
            _parse(work, stage, shard.number, sentences, owners, found)
    return found


def _owner(document: str) -> int | None:
    """Returns the number of the text that a document is of; None for the plain one."""
    folder = document.partition("/")[0]
    return None if folder == _PLAIN else int(folder)


def _quarantine(folder: Path, number: int) -> list[dict[str, Any]]:
    path = quarantine_path(folder, number)
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@cache
def _parser(stage: str) -> Any:
    return load_parser(BUNDLED_PARSERS[stage], stage)


def _parse(
    work: Path,
    stage: str,
    number: int,
    sentences: pa.Table,
    owners: Sequence[int | None],
    found: Sequence[Found],
) -> None:
    """Parses a shard; notes for each text rows that are neither parsed nor refused with reason."""
    output = work / stage
    job = {"stage": stage, "sentences": work / "sentences", "output": output, "number": number}
    parse_shard(ParseJob.from_dict(job), _parser(stage))
    table = read_shard(output, stage, number)
    refused = {record["row"]: record["reason"] for record in _quarantine(output, number)}
    faults = {row: problem for row, _, problem in faults_in_rows(stage, table, sentences)}
    if table.num_rows != sentences.num_rows:
        raise ValueError(f"{stage}: {table.num_rows} rows of {sentences.num_rows} sentences")
    for row, (owner, parsed) in enumerate(
        zip(owners, table[table.column_names[0]].is_valid().to_pylist(), strict=True)
    ):
        if owner is None:
            continue
        reason = refused.get(row, "nothing said")
        if not parsed and (reason in PARSER_FAULTS or row not in refused):
            found[owner].problems.append(f"{stage}: row {row} without a parse: {reason}")
        if row in faults:
            found[owner].problems.append(f"{stage}: row {row}: {faults[row]}")
