"""``export``: the sentences of shards and their trees, in the formats that others read.

The formats are those of `pipeline.parsing`, where a sentence is a `ParsedSentence`. Shards keep no
white space and no place in the source: a sentence's text is its tokens with one space between, and
offsets are places in that text. Where the source is read again, text and offsets are the source's.

A ``DocBin`` of spaCy is packed as a whole, so one file holds what fits in memory; a corpus of any
size is a folder of them, which spaCy's ``Corpus`` reads like one file. Constituents are the span
group ``doc.spans["constituents"]``, too, which needs none of our code to be read.
``doc.user_data["treeviews"]`` has the document's ``document_id``, and ``sent_ids`` and
``sentence_indices`` of the doc's sentences; where the source was read again, ``starts``, too: where
each begins in its document, or None. A doc is cut after `SENTENCES_A_DOC`, and between sentences
with dependencies and without: spaCy reads where sentences begin from the heads of a doc that has
any, so a sentence without heads keeps its start in a doc without heads alone.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from treeviews.pipeline.base.atomic_files import (
    TEMPORARY_SUFFIX,
    rename_durably,
    synchronise,
    write_by_library,
    writer_name,
)
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.inspect.aligned_rows import (
    NEEDED_COLUMNS,
    check_same_rows,
    constituency_of,
    read_rows,
)
from treeviews.pipeline.inspect.check import read_refusals, row_faults
from treeviews.pipeline.inspect.dataset import Selection, StageFolder
from treeviews.pipeline.parsing.parsed_sentence import (
    InDocument,
    ParsedSentence,
    Trees,
    doc_of,
    format_of,
    write_parses,
)
from treeviews.pipeline.shards.manifests import quarantine_path
from treeviews.pipeline.text.aligned import AlignedSentence
from treeviews.pipeline.text.split_corpus import SourceText
from treeviews.pipeline.trees.flat_trees import DependencyParse

if TYPE_CHECKING:
    from spacy.tokens import Doc, DocBin

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
SUFFIX = ".spacy"
MOST_IN_ONE_FILE = 100_000
"""Sentences; some 300 MB of memory while they are packed."""
SENTENCES_A_FILE = 10_000
"""Of a folder of files."""
SENTENCES_A_DOC = 500
"""At most. What spaCy writes once a doc takes it some milliseconds."""
SPAN_GROUP = "constituents"


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
    elif out.suffix.lower() == SUFFIX:
        numbers = chosen.shared_numbers()
        if sum(check_same_rows(folders, n) for n in numbers) > MOST_IN_ONE_FILE:
            raise ValueError(
                f"{out}: more than {MOST_IN_ONE_FILE:,} sentences, which one {SUFFIX} file cannot "
                f"hold; leave {SUFFIX} out of the name for a folder of files, or export shard by "
                "shard"
            )
        write_by_library(out, lambda path: path.write_bytes(_packed(sentences).to_bytes()))
    else:
        write_doc_bins(out, sentences)
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


def write_doc_bins(folder: Path, sentences: Iterable[ParsedSentence]) -> None:
    """Writes a folder of files, which appears whole or not at all.

    Raises:
        FileExistsError: the folder is there already and holds something.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is there already; delete it or choose another name")
    temporary = folder.with_name(f"{folder.name}.{writer_name()}{TEMPORARY_SUFFIX}")
    temporary.mkdir()
    rest = iter(sentences)
    try:
        files = iter(lambda: list(islice(rest, SENTENCES_A_FILE)), [])
        for number, of_file in enumerate(files):
            path = temporary / f"{number:05d}{SUFFIX}"
            path.write_bytes(_packed(of_file).to_bytes())
            synchronise(path)
    except BaseException:  # an interruption, too
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    rename_durably(temporary, folder)


def _packed(sentences: Iterable[ParsedSentence]) -> DocBin:
    from spacy.tokens import DocBin

    return DocBin(
        attrs=["ORTH", "SPACY", "TAG", "HEAD", "DEP", "SENT_START"],
        store_user_data=True,
        docs=map(_doc, _documents(sentences)),
    )


def _documents(sentences: Iterable[ParsedSentence]) -> Iterator[list[ParsedSentence]]:
    """Yields the sentences of each document, in the parts that docs are of."""

    def belongs(sentence: ParsedSentence) -> tuple[str | None, bool]:
        document = sentence.place and sentence.place.document_id
        return document, sentence.trees.dependencies is not None

    for _, together in groupby(sentences, belongs):
        while part := list(islice(together, SENTENCES_A_DOC)):
            yield part


def _doc(sentences: Sequence[ParsedSentence]) -> Doc:
    from spacy.tokens import Span

    doc = doc_of(sentences, None)
    places = [sentence.place for sentence in sentences if sentence.place]
    doc.user_data["treeviews"] = {
        "document_id": places[0].document_id if places else "",
        "sent_ids": [sentence.sent_id for sentence in sentences],
        "sentence_indices": [place.sentence_index for place in places],
    }
    if any(place.in_source is not None for place in places):
        doc.user_data["treeviews"]["starts"] = [
            sentence.start if sentence.place and sentence.place.in_source else None
            for sentence in sentences
        ]
    if any(sentence.trees.constituents for sentence in sentences):
        doc.spans[SPAN_GROUP] = [
            Span(doc, start, end, label=label) for start, end, label in doc._.treeviews_constituents
        ]
    return doc
