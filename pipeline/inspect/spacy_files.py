"""A corpus' parsed sentences as files of spaCy's ``DocBin``: a document is a doc or several.

A ``DocBin`` is packed as a whole, so one file holds what fits in memory; a corpus of any size is a
folder of them, which spaCy's ``Corpus`` reads like one file. A doc has what `spacy_docs` says; the
constituents are the span group ``doc.spans["constituents"]``, too, which needs none of our code to
be read. ``doc.user_data["treeviews"]`` has the document's ``document_id``, and ``sent_ids`` and
``sentence_indices`` of the doc's sentences, one each; where the source was read again, ``starts``,
too: where each begins in its document, or None. A doc is cut after `SENTENCES_A_DOC`, and
between sentences with dependencies and without: spaCy reads where sentences begin from the heads
of a doc that has any, so a sentence without heads keeps its start in a doc without heads alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.base.atomic_files import (
    TEMPORARY_SUFFIX,
    rename_durably,
    synchronise,
    write_by_library,
    writer_name,
)
from pipeline.parsing.parsed_sentence import ParsedSentence
from pipeline.parsing.spacy_docs import doc_of

if TYPE_CHECKING:
    from spacy.tokens import Doc, DocBin

SUFFIX = ".spacy"
MOST_IN_ONE_FILE = 100_000
"""Sentences; some 300 MB of memory while they are packed."""
SENTENCES_A_FILE = 10_000
"""Of a folder of files."""
SENTENCES_A_DOC = 500
"""At most. What spaCy writes once a doc takes it some milliseconds."""
SPAN_GROUP = "constituents"


def write_doc_bin(path: Path, sentences: Iterable[ParsedSentence]) -> None:
    """Writes one file, which appears whole or not at all.

    Raises:
        ValueError: there are more sentences than one file holds.
    """
    found = iter(sentences)

    def write(temporary: Path) -> None:
        packed = _packed(islice(found, MOST_IN_ONE_FILE))
        if next(found, None) is not None:
            raise ValueError(too_many(path))
        temporary.write_bytes(packed.to_bytes())

    write_by_library(path, write)


def too_many(path: Path) -> str:
    """Returns what to say of more sentences than one file holds."""
    return (
        f"{path}: more than {MOST_IN_ONE_FILE:,} sentences, which one {SUFFIX} file cannot hold; "
        f"leave {SUFFIX} out of the name for a folder of files, or export shard by shard"
    )


def write_doc_bins(folder: Path, sentences: Iterable[ParsedSentence]) -> int:
    """Writes a folder of files, which appears whole or not at all; returns how many.

    Raises:
        FileExistsError: the folder is there already and holds something.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is there already; delete it or choose another name")
    temporary = folder.with_name(f"{folder.name}.{writer_name()}{TEMPORARY_SUFFIX}")
    temporary.mkdir()
    found = iter(sentences)
    count = 0
    try:
        while (first := next(found, None)) is not None:
            some = chain([first], islice(found, SENTENCES_A_FILE - 1))
            path = temporary / f"{count:05d}{SUFFIX}"
            path.write_bytes(_packed(some).to_bytes())
            synchronise(path)
            count += 1
    except BaseException:  # an interruption, too
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    rename_durably(temporary, folder)
    return count


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
