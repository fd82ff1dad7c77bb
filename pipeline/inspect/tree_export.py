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

import json
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
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
from treeviews.pipeline.inspect.aligned_rows import Selection, check_one_of_each, read_rows
from treeviews.pipeline.inspect.check import TREE_COLUMNS, sound_tree
from treeviews.pipeline.parsing.parsed_sentence import (
    InDocument,
    ParsedSentence,
    Trees,
    format_of,
    write_parses,
)
from treeviews.pipeline.parsing.spacy_docs import doc_of
from treeviews.pipeline.shards.manifests import quarantine_path
from treeviews.pipeline.text.aligned import AlignedSentence
from treeviews.pipeline.text.split_corpus import PLAN_NAME
from treeviews.pipeline.text.split_parts import PartSplitter

if TYPE_CHECKING:
    from spacy.tokens import Doc

ExportFormat = Literal["conllu", "brackets", "json", "spacy"]
NEEDED: dict[ExportFormat, str] = {"conllu": "dependencies", "brackets": "constituents"}
"""Stage without which a format has nothing to write; others are written where they are."""
_HALF = re.compile("[\\ud800-\\udfff]")
SUFFIX = ".spacy"
MOST_IN_ONE_FILE = 100_000
"""Sentences; some 300 MB of memory while they are packed."""
SENTENCES_A_FILE = 10_000
"""Of a folder of files."""
SENTENCES_A_DOC = 500
"""At most. What spaCy writes once a doc takes it some milliseconds."""


def export_format(out: Path) -> ExportFormat:
    """Returns the format that a file's name stands for; errors as for `format_of`."""
    return "spacy" if out.suffix.lower() == SUFFIX else format_of(out)


def export(
    selection: Selection, out: Path, form: ExportFormat, *, from_source: bool = False
) -> dict[str, Any]:
    """Writes all sentences of a selection; the file appears whole or not at all.

    One shard is in memory at a time; of spaCy's format one file. Returns what was written, as JSON
    has it: ``refused`` are the sentences without the tree that the format needs, or without any,
    ``placed`` those with text and offsets of the source.

    Args:
        selection: the sentences and at most one folder of each kind of parse.
        out: file; of ``spacy`` a folder of files, unless the name ends in ``.spacy``.
        form: how.

    Raises:
        FileExistsError: the file or folder is there already.
        FileNotFoundError: it is not known what the source is.
        ValueError: a stage that the format needs is not there or there more than once, there are
            more sentences than the file can hold, or a row is no tree over its sentence. The source
            is gone, has changed, or knows no places.
    """
    started = time.monotonic()
    if out.exists():
        raise FileExistsError(f"{out} is there already; delete it or choose another name")
    kinds = ("constituents",) if form == "brackets" else TREE_COLUMNS
    parses = [folder for folder in selection.parses if folder.stage in kinds]
    check_one_of_each(parses)
    needed = NEEDED.get(form)
    if (
        selection.sentences is None
        or needed not in (None, *(f.stage for f in parses))
        or not parses
    ):
        what = f"no {needed or 'trees'} with their sentences here, without which {form}"
        raise ValueError(
            f"{selection.folders[0].path}: {what} has nothing to write; give the folder of a "
            "parsed corpus"
        )
    chosen = Selection((selection.sentences, *parses), selection.shard)
    counts, rows = {"sentences": 0, "refused": 0, "tokens": 0}, _sentences(chosen, needed)
    if from_source:
        counts["placed"], rows = 0, _in_source(rows, chosen)
    sentences = _counted(rows, counts)
    if form == "spacy":
        _write_docs(out, sentences)
    else:
        write_parses(out, sentences, form)
    files = out.iterdir() if out.is_dir() else [out]
    return {
        "path": str(out),
        "format": form,
        "stages": [str(folder.path) for folder in chosen.folders],
        **counts,
        "bytes": sum(path.stat().st_size for path in files),
        "seconds": round(time.monotonic() - started, 3),
    }


def _counted(
    sentences: Iterator[ParsedSentence], counts: dict[str, int]
) -> Iterator[ParsedSentence]:
    for sentence in sentences:
        counts["refused" if sentence.refusal else "sentences"] += 1
        counts["tokens"] += 0 if sentence.refusal else len(sentence.tokens)
        if sentence.place is not None and sentence.place.in_source:
            counts["placed"] += 1
        yield sentence


def _sentences(selection: Selection, needed: str | None) -> Iterator[ParsedSentence]:
    """Yields every row; one without the tree that is needed, or any, says why.

    Raises:
        ValueError: a tree is damaged, so that other programs would read a wrong one; names shard
            and row, the field and what is wrong with it.
    """
    for number in selection.shared_numbers():
        refusals: dict[int, Refusal] = {}
        for folder in selection.parses:
            if needed in (None, folder.stage):
                refusals = _refusals(quarantine_path(folder.path, number)) | refusals
        for row in read_rows(selection, number):
            place, tokens = f"{number}:{row['row']}", row["tokens"]
            trees: dict[str, Any] = {s: sound_tree(s, row) for s, _ in selection.parses}
            is_refused = not (trees[needed] if needed else any(trees.values()))
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


def _refusals(path: Path) -> dict[int, Refusal]:
    """Returns why a parser took no tree of a shard's rows, as its quarantine file says."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    records = [json.loads(line) for line in lines]
    return {
        record["row"]: Refusal(record["reason"], record.get("detail", ""))
        for record in records
        if record.get("row") is not None
    }


def _in_source(rows: Iterator[ParsedSentence], selection: Selection) -> Iterator[ParsedSentence]:
    """Yields the rows, with text and offsets of the source where these are known.

    A sentence with half a character, which JSON alone can hold, keeps its tokens for a text:
    cleaning took it out of them.

    Raises:
        ValueError: a sentence of the source is not the one of its row.
    """
    folder = selection.folders[0].path
    splitter = PartSplitter(folder / PLAN_NAME, folder)
    texts = (text for n in selection.shared_numbers() for text in splitter.read_again(n))
    for row, text in zip_longest(rows, texts, fillvalue="the end"):
        placed = text if isinstance(text, AlignedSentence) else None
        if placed and _HALF.search(placed.text):
            placed = None
        if isinstance(row, str) or isinstance(text, str) or (placed and placed.words != row.tokens):
            raise ValueError(
                f"{row if isinstance(row, str) else row.sent_id}: the source has other sentences "
                "there now than the shard; make the corpus again, or export without its source"
            )
        assert row.place is not None
        of_source: dict[str, Any] = {"place": row.place._replace(in_source=placed is not None)}
        for name in ("text", "start", "tokens", "offsets") if placed else ():
            of_source[name] = getattr(placed, name)
        yield replace(row, **of_source)


def _write_docs(out: Path, sentences: Iterator[ParsedSentence]) -> None:
    """Writes one file, or a folder of files, which appears whole or not at all.

    Raises:
        ValueError: more sentences than one file can hold.
    """
    if out.suffix.lower() == SUFFIX:
        of_file = list(islice(sentences, MOST_IN_ONE_FILE + 1))
        if len(of_file) > MOST_IN_ONE_FILE:
            raise ValueError(
                f"{out}: more than {MOST_IN_ONE_FILE:,} sentences, which one {SUFFIX} file cannot "
                f"hold; leave {SUFFIX} out of the name and give --format spacy for a folder of "
                "files, or export shard by shard"
            )
        write_by_library(out, lambda path: path.write_bytes(_packed(of_file)))
        return
    temporary = out.with_name(f"{out.name}.{writer_name()}{TEMPORARY_SUFFIX}")
    temporary.mkdir()
    try:
        for number, some in enumerate(iter(lambda: [*islice(sentences, SENTENCES_A_FILE)], [])):
            path = temporary / f"{number:05d}{SUFFIX}"
            path.write_bytes(_packed(some))
            synchronise(path)
    except BaseException:  # an interruption, too
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    rename_durably(temporary, out)


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
        "document_id": places[0].document_id,
        "sent_ids": [sentence.sent_id for sentence in sentences],
        "sentence_indices": [place.sentence_index for place in places],
    }
    if places[0].in_source is not None:
        starts = zip((sentence.start for sentence in sentences), places, strict=True)
        doc.user_data["treeviews"]["starts"] = [s if p.in_source else None for s, p in starts]
    if any(sentence.trees.constituents for sentence in sentences):
        spans = doc._.treeviews_constituents
        doc.spans["constituents"] = [Span(doc, start, end, label=of) for start, end, of in spans]
    return doc
