"""The parsers as a component of a spaCy pipeline: ``nlp.add_pipe("treeviews_parser")``."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from treeviews.pipeline.base.refusal import Refusal, RefusedSentence
from treeviews.pipeline.parsers.parser_files import CHECKSUMS_NAME, parser_file_names
from treeviews.pipeline.parsing.parse_text import OnRefusal, Parser, ParserSettings
from treeviews.pipeline.parsing.parsed_sentence import Trees
from treeviews.pipeline.parsing.spacy_docs import DocSentence, annotate, register_extensions
from treeviews.pipeline.text.boundaries import sentence_ranges
from treeviews.pipeline.text.tokenization import clean_text

if TYPE_CHECKING:
    from spacy.tokens import Doc

BATCH_SIZE = 256
"""Docs parsed together, unless the pipeline says another number."""
_CARD = "card.md"
"""Says what a parser was made from and its licence; travels with it."""
_OPTIONS = {"dependencies": "dependency_parser", "constituents": "constituency_parser"}

logger = logging.getLogger(__name__)


class SpacyParser:
    """Gives docs trees: heads, relations, sentence starts, tags where there are none, constituents.

    The tokens are the doc's. So are the sentences, if a component before it has set them; else
    they are those of `pipeline.text.boundaries`. White space is not parsed.
    """

    def __init__(
        self, *, on_refusal: OnRefusal = "skip", **parsers: Unpack[ParserSettings]
    ) -> None:
        """Takes settings; the parsers are looked for when the first doc comes.

        A pipeline that was saved brings them along, and they stand elsewhere than they did.

        Args:
            on_refusal: ``skip`` leaves a sentence that cannot be parsed (more than 510 tokens, or
                refused by a parser) without trees, logs it and lists it in
                ``doc._.treeviews_refusals``; ``error`` ends the doc.
            parsers: see `pipeline.parsing.parse_text.Parser`.
        """
        self._settings: dict[str, Any] = dict(parsers)
        self._on_refusal = on_refusal
        register_extensions(constituents=parsers.get("constituents", True))

    def __getstate__(self) -> dict[str, Any]:
        """Returns what another process needs, which loads the parsers by itself."""
        return {name: value for name, value in self.__dict__.items() if name != "_parser"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        register_extensions(constituents=self._settings.get("constituents", True))

    @cached_property
    def _parser(self) -> Parser:
        return Parser(**self._settings)

    def __call__(self, doc: Doc) -> Doc:
        """Returns the doc with its trees.

        Raises:
            FileNotFoundError: no such parser.
            ValueError: a sentence is refused and ``on_refusal`` is ``error``.
            RuntimeError: memory, the device or a parser failed.
        """
        self._parse([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = BATCH_SIZE) -> Iterator[Doc]:
        """Yields the docs with their trees, parsed in batches; raises as a call does."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            self._parse(batch)
            yield from batch

    def _parse(self, docs: list[Doc]) -> None:
        # As parsers read them: nothing of white space and of what is not for print.
        words = [[clean_text(token.text)[0] for token in doc] for doc in docs]
        sentences = [list(_sentences(*pair)) for pair in zip(docs, words, strict=True)]
        tokens = [
            [of_doc[place] for place in sentence.places]
            for of_doc, own in zip(words, sentences, strict=True)
            for sentence in own
            if sentence.places
        ]
        found = iter(self._parser.parse_tokens(tokens))
        for doc, own in zip(docs, sentences, strict=True):
            parsed = [_with_trees(part, next(found)) if part.places else part for part in own]
            self._report(parsed)
            annotate(doc, parsed)

    def _report(self, sentences: list[DocSentence]) -> None:
        refused = [
            RefusedSentence(number, sentence.refusal.reason, sentence.refusal.detail)
            for number, sentence in enumerate(sentences)
            if sentence.refusal is not None
        ]
        if not refused:
            return
        told = f"of a doc of {len(sentences)} sentences: {'; '.join(map(str, refused))}"
        if self._on_refusal == "error":
            raise ValueError(f"{told}; give on_refusal='skip' to leave them without trees")
        logger.warning("left without trees, %s", told)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Writes the parsers into a folder, so that the pipeline parses alike wherever it goes."""
        folder = Path(path)
        for stage, parser in self._parser.parsers.items():
            target = folder / stage / parser.name
            for old in (folder / stage).glob("*/"):
                if not old.samefile(parser.path):  # a pipeline may be saved where it was loaded
                    shutil.rmtree(old)
            if target.exists():
                continue
            for name in (*parser_file_names(parser.path), CHECKSUMS_NAME, _CARD):
                if (source := parser.path / name).is_file():
                    (target / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(source, target / name)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> SpacyParser:
        """Takes the parsers of a folder that `to_disk` wrote, from there; returns itself."""
        for stage, option in _OPTIONS.items():
            for folder in sorted((Path(path) / stage).glob("*/")):
                self._settings[option] = folder
        self.__dict__.pop("_parser", None)
        return self


def _with_trees(sentence: DocSentence, trees: Trees | Refusal) -> DocSentence:
    if isinstance(trees, Refusal):
        return replace(sentence, refusal=trees)
    return replace(sentence, dependencies=trees.dependencies, constituents=trees.constituents)


def _sentences(doc: Doc, words: Sequence[str]) -> Iterator[DocSentence]:
    """Yields the sentences of a doc, those that are set or else ours.

    Args:
        words: of each token what a parser reads of it, if anything.
    """
    if not len(doc):
        return
    if doc.has_annotation("SENT_START"):
        ranges = [(sentence.start, sentence.end) for sentence in doc.sents]
    else:
        ranges = _split(doc, words)
    for start, end in ranges:
        yield DocSentence(start, end, [i for i in range(start, end) if words[i]])


def _split(doc: Doc, words: Sequence[str]) -> list[tuple[int, int]]:
    """Returns our sentences as ranges that cover the doc: white space goes with what it follows."""
    starts: list[int] = []
    for places in _paragraphs(doc, words):
        own = [words[place] for place in places]
        ends = [*places[1:], len(doc)]
        spaces = [
            bool(doc[place].whitespace_) or end > place + 1
            for place, end in zip(places, ends, strict=True)
        ]
        starts += [places[start] for start, _ in sentence_ranges(own, spaces)]
    starts[:1] = [0]
    return list(zip(starts, [*starts[1:], len(doc)], strict=True))


def _paragraphs(doc: Doc, words: Sequence[str]) -> Iterator[list[int]]:
    """Yields the places of the words of each paragraph, which a blank line ends."""
    places: list[int] = []
    for place, word in enumerate(words):
        if word:
            places.append(place)
        elif doc[place].text.count("\n") > 1 and places:
            yield places
            places = []
    if places:
        yield places
