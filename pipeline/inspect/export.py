"""``export``: the sentences of shards and their trees, in the formats that others read.

The formats are those of `pipeline.parsing`, where a sentence is a `ParsedSentence`. Shards keep no
white space and no place in the source: a sentence's text is its tokens with one space between, and
offsets are places in that text. Where the source is read again, text and offsets are the source's.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import Any, Literal

from pipeline.base.refusal import Refusal
from pipeline.inspect.check import read_refusals
from pipeline.inspect.dataset import Selection, StageFolder
from pipeline.inspect.row_checks import row_faults
from pipeline.inspect.rows import NEEDED_COLUMNS, check_same_rows, constituency_of, read_rows
from pipeline.parsing.formats import format_of, write_parses
from pipeline.parsing.parsed_sentence import InDocument, ParsedSentence, Trees
from pipeline.shards.manifests import quarantine_path
from pipeline.text.aligned import AlignedSentence
from pipeline.text.source_text import SourceText
from pipeline.trees.flat_trees import DependencyParse

ExportFormat = Literal["conllu", "brackets", "json", "spacy"]
NEEDED: dict[ExportFormat, tuple[str, ...]] = {
    "conllu": ("dependencies",),
    "brackets": ("constituents",),
    "json": (),
    "spacy": (),
}
"""Stages without which a format has nothing to write; others are written where they are."""
KINDS = ("dependencies", "constituents")
_HALF = re.compile("[\\ud800-\\udfff]")


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
    """With text and offsets of the source; None where these were not asked for."""
    tokens: int = 0
    bytes: int = 0
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

    One shard is in memory at a time; of spaCy's format one file.

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
    done = Exported(str(out), form, [str(folder.path) for folder in folders])
    chosen = Selection(folders[0], tuple(folders[1:]), selection.shard)
    rows = _sentences(chosen, form)
    if from_source:
        done.placed = 0
        rows = _in_source(rows, _texts(chosen))
    sentences = _counted(rows, done)
    if form != "spacy":
        write_parses(out, sentences, form)
    elif out.suffix.lower() == doc_bins.SUFFIX:
        numbers = chosen.shared_numbers()
        if sum(check_same_rows(folders, n) for n in numbers) > doc_bins.MOST_IN_ONE_FILE:
            raise ValueError(doc_bins.too_many(out))
        doc_bins.write_doc_bin(out, sentences)
    else:
        doc_bins.write_doc_bins(out, sentences)
    files = out.iterdir() if out.is_dir() else [out]
    done.bytes = sum(path.stat().st_size for path in files)
    done.seconds = round(time.monotonic() - started, 3)
    return done


def _folders(selection: Selection, form: ExportFormat) -> list[StageFolder]:
    """Returns the folders to write from, the sentences first.

    Raises:
        ValueError: one that is needed is not there, or there are several.
    """
    if selection.sentences is None:
        raise ValueError(
            f"{selection.folders[0].path}: no sentences beside it, whose words are to be written; "
            "give a folder that has both"
        )
    kinds = ("constituents",) if form == "brackets" else KINDS
    parses = [folder for kind in kinds if (folder := selection.folder_of(kind)) is not None]
    lacking = set(NEEDED[form]) - {folder.stage for folder in parses}
    if lacking or not parses:
        what = " and no ".join(lacking or KINDS)
        raise ValueError(
            f"{selection.folders[0].path}: no {what} here, without which {form} has nothing to "
            "write; give the folder of a parsed corpus"
        )
    return [selection.sentences, *parses]


def _counted(sentences: Iterator[ParsedSentence], done: Exported) -> Iterator[ParsedSentence]:
    for sentence in sentences:
        if sentence.place is not None and sentence.place.in_source:
            done.placed = (done.placed or 0) + 1
        if sentence.refusal is None:
            done.sentences += 1
            done.tokens += len(sentence.tokens)
        else:
            done.refused += 1
        yield sentence


def _sentences(selection: Selection, form: ExportFormat) -> Iterator[ParsedSentence]:
    """Yields every row; one without the tree that is needed, or any, says why."""
    kinds = NEEDED[form] or KINDS
    for number in selection.shared_numbers():
        parses = [folder for folder in selection.parses if folder.stage in kinds]
        refusals = _refusals(parses, number)
        for position, row in enumerate(read_rows(selection, number)):
            place = f"{number}:{position}"
            trees = _trees(place, row)
            has = {"dependencies": trees.dependencies, "constituents": trees.constituents}
            is_refused = not any(has.values()) or not all(has[stage] for stage in NEEDED[form])
            tokens = row["tokens"]
            ends = list(accumulate(tokens, lambda at, token: at + 1 + len(token), initial=-1))[1:]
            nothing = Refusal("rejected", "the shard keeps no record of why")
            yield ParsedSentence(
                text=" ".join(tokens),
                tokens=tokens,
                offsets=[(end - len(t), end) for end, t in zip(ends, tokens, strict=True)],
                trees=Trees() if is_refused else trees,
                refusal=refusals.get(position, nothing) if is_refused else None,
                sent_id=place,
                place=InDocument(row["document_id"], row["sentence_index"]),
            )


def _texts(selection: Selection) -> Iterator[AlignedSentence | None]:
    """Yields what the source says of each row, see `SourceText.sentences`."""
    assert selection.sentences is not None
    source = SourceText(selection.sentences.path)
    for number in selection.shared_numbers():
        yield from source.sentences(number)


def _in_source(
    rows: Iterator[ParsedSentence], texts: Iterator[AlignedSentence | None]
) -> Iterator[ParsedSentence]:
    """Yields the rows, with text and offsets of the source where these are known.

    A sentence with half a character, which JSON alone can hold, keeps its tokens for a text:
    cleaning took it out of them.

    Raises:
        ValueError: a sentence of the source is not the one of its row.
    """
    for row, found in zip_longest(rows, texts, fillvalue=""):
        if not isinstance(row, ParsedSentence) or isinstance(found, str):
            raise ValueError(
                "the source has another number of sentences now; make the corpus again, or export "
                "without its source"
            )
        assert row.place is not None
        is_placed = found is not None and not _HALF.search(found.text)
        place = row.place._replace(in_source=is_placed)
        if found is None or not is_placed:
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


def _trees(place: str, row: Mapping[str, Any]) -> Trees:
    """Returns a row's trees.

    Raises:
        ValueError: it is damaged, so that other programs would read a wrong tree; names shard and
            row, the field and what is wrong with it.
    """
    parses = {}
    for stage in KINDS:
        columns = NEEDED_COLUMNS[stage]
        if columns[0] not in row:
            continue
        parses[stage] = {name: row[name] for name in columns}
        for field, problem in row_faults(stage, parses[stage], len(row["tokens"])):
            raise ValueError(
                f"{place} ({stage}, {field}): {problem}; `inspect check` says what is damaged"
            )
    has_arcs = row.get("heads") is not None
    has_phrases = row.get("span_starts") is not None
    return Trees(
        DependencyParse(row["heads"], row["deprels"]) if has_arcs else None,
        constituency_of(parses["constituents"]) if has_phrases else None,
    )


def _refusals(parses: list[StageFolder], number: int) -> dict[int, Refusal]:
    """Returns why the parsers took no tree of a shard's rows, as the quarantine files say.

    Raises:
        ValueError: a line is no record of a refusal; names it.
    """
    found: dict[int, Refusal] = {}
    for path in (quarantine_path(folder.path, number) for folder in parses):
        try:
            for row, reason, detail in read_refusals(path) if path.exists() else ():
                if row is not None:
                    found.setdefault(row, Refusal(reason, detail))
        except ValueError as error:
            raise ValueError(
                f"{path}: cannot be read ({error}); `inspect check` says what is damaged"
            ) from error
    return found
