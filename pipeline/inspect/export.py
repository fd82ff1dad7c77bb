"""``export``: the sentences of shards and their trees, in the formats that others read.

The formats are those of `pipeline.parsing`, where a sentence is a `ParsedSentence`. Shards keep no
white space and no place in the source: a sentence's text is its tokens with one space between, and
offsets are places in that text. Where the source is read again, text and offsets are the source's.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, get_args

from pipeline.base.refusal import Refusal
from pipeline.inspect.chosen import Place
from pipeline.inspect.conditions import NEEDED_COLUMNS
from pipeline.inspect.dataset import Selection
from pipeline.inspect.drawing.rows import constituency_of
from pipeline.inspect.row_checks import row_faults
from pipeline.inspect.rows import check_same_rows, read_groups
from pipeline.parsing.formats import format_of, write_parses
from pipeline.parsing.parsed_sentence import InDocument, ParsedSentence, Trees
from pipeline.shards.manifests import quarantine_path
from pipeline.text.aligned import AlignedSentence
from pipeline.text.source_text import SourceText
from pipeline.trees.parses import DependencyParse

ExportFormat = Literal["conllu", "brackets", "json", "spacy"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
NEEDED: dict[ExportFormat, tuple[str, ...]] = {
    "conllu": ("dependencies",),
    "brackets": ("constituents",),
    "json": (),
    "spacy": (),
}
"""Stages without which a format has nothing to write; others are written where they are."""
_READ = tuple(name for names in NEEDED_COLUMNS.values() for name in names)
"""Columns; those that are there are read."""
_HALF = re.compile("[\\ud800-\\udfff]")
_NOTHING = object()
"""Where there are fewer rows or fewer sentences."""
REJECTED = "rejected"
"""Why a sentence has no tree where its shard keeps no record of that."""


@dataclass(slots=True)
class Exported:
    """What was written."""

    path: str
    format: ExportFormat
    stages: list[str]
    """Folders that it was written from."""
    sentences: int = 0
    """With trees."""
    refused: int = 0
    """Without the tree that the format needs, or without any."""
    placed: int | None = None
    """With text and offsets of the source; None where it was not asked for."""
    tokens: int = 0
    bytes: int = 0
    files: int = 1
    seconds: float = 0.0


def export_format(out: Path) -> ExportFormat:
    """Returns the format that a file's name stands for.

    Raises:
        ValueError: it stands for none; says which ends do.
    """
    from pipeline.parsing.doc_bins import SUFFIX

    if out.suffix.lower() == SUFFIX:
        return "spacy"
    try:
        return format_of(out)
    except ValueError as error:
        raise ValueError(f"{error}, {SUFFIX} (spacy); or give --format") from error


def export(
    selection: Selection, out: Path, form: ExportFormat, *, from_source: bool = False
) -> Exported:
    """Writes all sentences of a selection; the file appears whole or not at all.

    One row group is in memory at a time; of spaCy's format one file.

    Args:
        selection: the sentences and at most one folder of each kind of parse.
        out: file; of ``spacy`` a folder of files, unless the name ends in ``.spacy``.
        form: how.
        from_source: text and offsets are to be those of the corpus's source, which is read again.

    Raises:
        FileNotFoundError: it is not known what the source is.
        FileExistsError: the file is there already, or the folder and holds something.
        ValueError: a stage that the format needs is not there or there more than once, there are
            more sentences than the file can hold, or a row is no tree over its sentence. The source
            is gone, has changed, or knows no places.
    """
    from pipeline.parsing import doc_bins

    started = time.monotonic()
    if out.is_file():
        raise FileExistsError(f"{out} is there already; delete it or choose another name")
    folders = _folders(selection, form)
    read = [str(folder.path) for folder in folders.values()]
    done = Exported(str(out), form, read, placed=0 if from_source else None)
    source = SourceText(folders["sentences"].path) if from_source else None
    sentences = _counted(_sentences(selection, form, source), done)
    if form != "spacy":
        write_parses(out, sentences, form)
    elif out.suffix.lower() == doc_bins.SUFFIX:
        if _num_rows(selection) > doc_bins.MOST_IN_ONE_FILE:
            raise ValueError(doc_bins.too_many(out))
        doc_bins.write_doc_bin(out, sentences)
    else:
        done.files = doc_bins.write_doc_bins(out, sentences)
    files = out.iterdir() if out.is_dir() else [out]
    done.bytes = sum(path.stat().st_size for path in files)
    done.seconds = round(time.monotonic() - started, 3)
    return done


def _folders(selection: Selection, form: ExportFormat) -> dict[str, Any]:
    """Returns the folders to write from, by stage.

    Raises:
        ValueError: one that is needed is not there, or there are several.
    """
    if selection.sentences is None:
        raise ValueError(
            f"{selection.folders[0].path}: no sentences beside it, whose words are to be written; "
            "give a folder that has both"
        )
    kinds: tuple[str, ...] = ("sentences", "dependencies", "constituents")
    if form == "brackets":  # of dependencies there may be several, or none
        kinds = ("sentences", "constituents")
    found = {kind: folder for kind in kinds if (folder := selection.folder_of(kind)) is not None}
    lacking = [kind for kind in NEEDED[form] if kind not in found]
    if lacking or len(found) == 1:
        what = " and no ".join(lacking or kinds[1:])
        raise ValueError(
            f"{selection.folders[0].path}: no {what} here, without which {form} has nothing to "
            "write; give the folder of a parsed corpus"
        )
    return found


def _num_rows(selection: Selection) -> int:
    numbers = selection.shared_numbers()
    return sum(check_same_rows(selection.read_together, number) for number in numbers)


def _counted(sentences: Iterator[ParsedSentence], done: Exported) -> Iterator[ParsedSentence]:
    for sentence in sentences:
        if sentence.place is not None and sentence.place.in_source is not None:
            done.placed = (done.placed or 0) + sentence.place.in_source
        if sentence.refusal is None:
            done.sentences += 1
            done.tokens += len(sentence.tokens)
        else:
            done.refused += 1
        yield sentence


def _sentences(
    selection: Selection, form: ExportFormat, source: SourceText | None
) -> Iterator[ParsedSentence]:
    """Yields every row; one without the tree that is needed, or any, says why."""
    for number in selection.shared_numbers():
        rows = _rows(selection, number, form)
        yield from rows if source is None else _in_source(number, rows, source.sentences(number))


def _rows(selection: Selection, number: int, form: ExportFormat) -> Iterator[ParsedSentence]:
    refusals = _Refusals(selection, number)
    for start, table in read_groups(selection, number, _READ):
        for position, row in enumerate(table.to_pylist(), start):
            yield _sentence(Place(number, position), row, form, refusals)


def _in_source(
    number: int,
    rows: Iterator[ParsedSentence],
    texts: Iterator[AlignedSentence | None],
) -> Iterator[ParsedSentence]:
    """Yields the rows of a shard, with text and offsets of the source where these are known.

    A sentence with half a character, which JSON alone can hold, keeps its tokens for a text:
    cleaning took it out of them.

    Raises:
        ValueError: a sentence of the source is not the one of its row.
    """
    for row, found in zip_longest(rows, texts, fillvalue=_NOTHING):
        if not isinstance(row, ParsedSentence) or found is _NOTHING:
            raise ValueError(
                f"shard {number}: its source has another number of sentences now; make the corpus "
                "again, or export without its source"
            )
        assert row.place is not None
        is_placed = isinstance(found, AlignedSentence) and not _HALF.search(found.text)
        place = row.place._replace(in_source=is_placed)
        if not isinstance(found, AlignedSentence) or not is_placed:
            yield replace(row, place=place)
        elif found.words != row.tokens:
            raise ValueError(
                f"{row.sent_id}: the source has other words there now than the shard; make the "
                "corpus again, or export without its source"
            )
        else:
            text, start, offsets = found.text, found.start, found.offsets
            yield replace(
                row, text=text, tokens=found.tokens, offsets=offsets, start=start, place=place
            )


def _sentence(
    place: Place, row: Mapping[str, Any], form: ExportFormat, refusals: _Refusals
) -> ParsedSentence:
    _check_trees(place, row)
    has_arcs = row.get("heads") is not None
    has_phrases = row.get("span_starts") is not None
    trees = Trees(
        DependencyParse(row["heads"], row["deprels"]) if has_arcs else None,
        constituency_of(row) if has_phrases else None,
    )
    there = {"dependencies": has_arcs, "constituents": has_phrases}
    is_refused = not any(there.values()) or not all(there[stage] for stage in NEEDED[form])
    tokens, offsets, at = row["tokens"], [], 0
    for token in tokens:
        offsets.append((at, at + len(token)))
        at += len(token) + 1
    return ParsedSentence(
        text=" ".join(tokens),
        tokens=tokens,
        offsets=offsets,
        trees=Trees() if is_refused else trees,
        refusal=refusals.of(place.row, NEEDED[form]) if is_refused else None,
        sent_id=str(place),
        place=InDocument(row["document_id"], row["sentence_index"]),
    )


def _check_trees(place: Place, row: Mapping[str, Any]) -> None:
    """Refuses a damaged row, of which other programs would read a wrong tree.

    Raises:
        ValueError: names shard and row, the field and what is wrong with it.
    """
    for stage in ("dependencies", "constituents"):
        columns = NEEDED_COLUMNS[stage]
        if columns[0] not in row:
            continue
        parse = {name: row[name] for name in columns}
        for field, problem in row_faults(stage, parse, len(row["tokens"])):
            raise ValueError(
                f"{place} ({stage}, {field}): {problem}; `inspect check` says what is damaged"
            )


class _Refusals:
    """Why the parsers took no tree of a shard's rows, as the quarantine files say.

    They are read when the first one is asked for: most shards have none.
    """

    def __init__(self, selection: Selection, number: int) -> None:
        parses = [folder for folder in selection.read_together if folder.stage != "sentences"]
        self._files = {f.stage: quarantine_path(f.path, number) for f in parses}
        self._known: dict[str, dict[int, Refusal]] = {}

    def of(self, row: int, stages: tuple[str, ...]) -> Refusal:
        """Returns why a row has no tree.

        Args:
            row: its number in the shard.
            stages: those whose refusal counts; any, if there is none.
        """
        for stage in stages or tuple(self._files):
            if stage not in self._known:
                self._known[stage] = _read_refusals(self._files[stage])
            if (found := self._known[stage].get(row)) is not None:
                return found
        return Refusal(REJECTED, "the shard keeps no record of why")


def _read_refusals(path: Path) -> dict[int, Refusal]:
    if not path.exists():
        return {}
    found = {}
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                record = json.loads(line)
                found[int(record["row"])] = Refusal(
                    str(record["reason"]), str(record.get("detail", ""))
                )
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{path}, line {number}: no record of a refusal ({error}); `inspect check` "
                    "says what is damaged"
                ) from error
    return found


def summary_lines(done: Exported) -> Iterator[str]:
    """Yields what was written, as lines for people."""
    rate = done.sentences / max(done.seconds, 1e-9)
    files = f" in {done.files:,} files" if done.files > 1 else ""
    if done.placed is not None and (unplaced := done.sentences + done.refused - done.placed):
        yield (
            f"{unplaced:,} sentences have no place in the source: cleaning changed their "
            "paragraphs, or they hold half a character; their text is their tokens"
        )
    yield (
        f"{done.sentences:,} sentences, {done.tokens:,} tokens, {done.refused:,} refused, "
        f"{done.bytes:,} bytes{files}, {done.seconds:.1f} s, {rate:,.0f} sentences/s"
    )
    yield done.path
