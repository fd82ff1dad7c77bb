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
    TREE_COLUMNS,
    check_same_rows,
    read_rows,
    tree_fault,
    tree_of,
)
from treeviews.pipeline.inspect.check import read_refusals
from treeviews.pipeline.inspect.dataset import Selection
from treeviews.pipeline.parsing.parsed_sentence import (
    InDocument,
    ParsedSentence,
    Trees,
    doc_of,
    format_of,
    write_parses,
)
from treeviews.pipeline.shards.manifests import quarantine_path
from treeviews.pipeline.text.split_corpus import SourceText

if TYPE_CHECKING:
    from spacy.tokens import Doc

ExportFormat = Literal["conllu", "brackets", "json", "spacy"]
NEEDED: dict[ExportFormat, tuple[str, ...]] = {
    "conllu": ("dependencies",),
    "brackets": ("constituents",),
    "json": (),
    "spacy": (),
}
"""Stages without which a format has nothing to write; others are written where they are."""
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
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise FileExistsError(f"{out} is there already; delete it or choose another name")
    chosen = _chosen(selection, form)
    done = Exported(str(out), form, [str(folder.path) for folder in chosen.folders])
    rows = _sentences(chosen, form)
    if from_source:
        done.placed, rows = 0, _in_source(rows, chosen)
    sentences = _counted(rows, done)
    if form != "spacy":
        write_parses(out, sentences, form)
    elif out.suffix.lower() != SUFFIX:
        write_doc_bins(out, sentences)
    else:
        numbers = chosen.shared_numbers()
        if sum(check_same_rows(chosen.folders, n) for n in numbers) > MOST_IN_ONE_FILE:
            raise ValueError(
                f"{out}: more than {MOST_IN_ONE_FILE:,} sentences, which one {SUFFIX} file cannot "
                f"hold; leave {SUFFIX} out of the name and give --format spacy for a folder of "
                "files, or export shard by shard"
            )
        write_by_library(out, lambda path: path.write_bytes(_packed(sentences)))
    files = out.iterdir() if out.is_dir() else [out]
    done.bytes = sum(path.stat().st_size for path in files)
    done.seconds = round(time.monotonic() - started, 3)
    return done


def _chosen(selection: Selection, form: ExportFormat) -> Selection:
    """Returns the stages to write from.

    Raises:
        ValueError: one that is needed is not there, or there are several.
    """
    if selection.sentences is None:
        raise ValueError(
            f"{selection.folders[0].path}: no sentences beside it, whose words are to be written; "
            "give a folder that has both"
        )
    kinds = ("constituents",) if form == "brackets" else TREE_COLUMNS
    parses = [folder for kind in kinds if (folder := selection.folder_of(kind)) is not None]
    lacking = set(NEEDED[form]) - {folder.stage for folder in parses}
    if lacking or not parses:
        what = " and no ".join(lacking or TREE_COLUMNS)
        raise ValueError(
            f"{selection.folders[0].path}: no {what} here, without which {form} has nothing to "
            "write; give the folder of a parsed corpus"
        )
    return Selection((selection.sentences, *parses), selection.shard)


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
    needed = NEEDED[form]
    for number in selection.shared_numbers():
        refusals = _refusals(selection, needed or tuple(TREE_COLUMNS), number)
        for row in read_rows(selection, number):
            place, tokens = f"{number}:{row['row']}", row["tokens"]
            trees = {folder.stage: _tree(place, folder.stage, row) for folder in selection.parses}
            is_refused = not any(trees.values()) or not all(trees[stage] for stage in needed)
            ends = list(accumulate(tokens, lambda at, token: at + 1 + len(token), initial=-1))[1:]
            nothing = Refusal("rejected", "the shard keeps no record of why")
            yield ParsedSentence(
                text=" ".join(tokens),
                tokens=tokens,
                offsets=[(end - len(t), end) for end, t in zip(ends, tokens, strict=True)],
                trees=Trees() if is_refused else Trees(**trees),
                refusal=refusals.get(row["row"], nothing) if is_refused else None,
                sent_id=place,
                place=InDocument(row["document_id"], row["sentence_index"]),
            )


def _tree(place: str, stage: str, row: Mapping[str, Any]) -> Any:
    """Returns a row's tree of a stage, None where it has none.

    Raises:
        ValueError: it is damaged, so that other programs would read a wrong tree; names shard and
            row, the field and what is wrong with it.
    """
    if fault := tree_fault(stage, row, row["tokens"]):
        field, problem = fault
        raise ValueError(
            f"{place} ({stage}, {field}): {problem}; `inspect check` says what is damaged"
        )
    return tree_of(stage, row)


def _refusals(selection: Selection, stages: Sequence[str], number: int) -> dict[int, Refusal]:
    """Returns why the parsers took no tree of a shard's rows, as the quarantine files say.

    Raises:
        ValueError: a line is no record of a refusal; names it.
    """
    refusals: dict[int, Refusal] = {}
    for folder in selection.parses:
        path = quarantine_path(folder.path, number)
        if folder.stage not in stages or not path.exists():
            continue
        try:
            for row, reason, detail in read_refusals(path):
                if row is not None:
                    refusals.setdefault(row, Refusal(reason, detail))
        except ValueError as error:
            raise ValueError(
                f"{path}: cannot be read ({error}); `inspect check` says what is damaged"
            ) from error
    return refusals


def _in_source(rows: Iterator[ParsedSentence], selection: Selection) -> Iterator[ParsedSentence]:
    """Yields the rows, with text and offsets of the source where these are known.

    A sentence with half a character, which JSON alone can hold, keeps its tokens for a text:
    cleaning took it out of them.

    Raises:
        ValueError: a sentence of the source is not the one of its row.
    """
    source = SourceText(selection.folders[0].path)
    texts = (text for n in selection.shared_numbers() for text in source.sentences(n))
    for row, text in zip_longest(rows, texts, fillvalue=""):
        if not isinstance(row, ParsedSentence) or isinstance(text, str):
            raise ValueError(
                "the source has another number of sentences now; make the corpus again, or export "
                "without its source"
            )
        assert row.place is not None
        is_placed = text is not None and not _HALF.search(text.text)
        place = row.place._replace(in_source=is_placed)
        if text is None or not is_placed:
            yield replace(row, place=place)
        elif text.words != row.tokens:
            raise ValueError(
                f"{row.sent_id}: the source has other words there now than the shard; make the "
                "corpus again, or export without its source"
            )
        else:
            aligned = {name: getattr(text, name) for name in ("text", "start", "tokens", "offsets")}
            yield replace(row, place=place, **aligned)


def write_doc_bins(folder: Path, sentences: Iterable[ParsedSentence]) -> None:
    """Writes a folder of files, which appears whole or not at all."""
    temporary = folder.with_name(f"{folder.name}.{writer_name()}{TEMPORARY_SUFFIX}")
    temporary.mkdir()
    rest = iter(sentences)
    try:
        files = iter(lambda: list(islice(rest, SENTENCES_A_FILE)), [])
        for number, of_file in enumerate(files):
            path = temporary / f"{number:05d}{SUFFIX}"
            path.write_bytes(_packed(of_file))
            synchronise(path)
    except BaseException:  # an interruption, too
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    rename_durably(temporary, folder)


def _packed(sentences: Iterable[ParsedSentence]) -> bytes:
    """Returns a file of docs, each of a document or a part of one."""
    from spacy.tokens import DocBin

    def belongs(sentence: ParsedSentence) -> tuple[str | None, bool]:
        document = sentence.place and sentence.place.document_id
        return document, sentence.trees.dependencies is not None

    attributes = ["ORTH", "SPACY", "TAG", "HEAD", "DEP", "SENT_START"]
    packed = DocBin(attrs=attributes, store_user_data=True)
    for _, together in groupby(sentences, belongs):
        while part := list(islice(together, SENTENCES_A_DOC)):
            packed.add(_doc(part))
    content: bytes = packed.to_bytes()
    return content


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
