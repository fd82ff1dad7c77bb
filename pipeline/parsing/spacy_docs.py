"""Trees in spaCy: a ``Doc`` with heads, labels, sentence starts, tags, and constituents.

The parsers are a component of a pipeline, ``nlp.add_pipe("treeviews_parser")``.

``doc._.treeviews_constituents`` is a list ``[[start, end, label], …]`` over the doc's tokens, in
preorder, and ``doc._.treeviews_refusals`` a list ``[[start, end, reason, detail], …]`` of sentences
without trees; both are written and read with the doc. benepar's extensions read the former as if
benepar had parsed the doc: ``sent._.parse_string``, and ``span._.labels``, ``_.constituents``,
``_.children``, ``_.parent``.

Differs from our own trees in what spaCy asks for: the root's relation is ``ROOT``, white space is
tokens, which hang from the word before them, and the first constituent of a sentence holds them.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from treeviews.pipeline.base.refusal import Refusal, RefusedSentence
from treeviews.pipeline.parsing.parse_text import OnRefusal, Parser, ParserSettings
from treeviews.pipeline.parsing.parsed_sentence import ParsedSentence, Trees
from treeviews.pipeline.text.boundaries import sentence_ranges
from treeviews.pipeline.text.tokenization import clean_text
from treeviews.pipeline.trees.flat_trees import CHAIN_MARK

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span
    from spacy.vocab import Vocab

logger = logging.getLogger(__name__)

BATCH_SIZE = 256
"""Docs parsed together, unless the pipeline says another number."""
_OPTIONS = {"dependencies": "dependency_parser", "constituents": "constituency_parser"}
_SPACE_LABEL, _SPACE_TAG = "dep", "_SP"
"""What spaCy's own parsers give white space."""


@dataclass(frozen=True, slots=True)
class DocSentence:
    """A sentence of a doc: n words, and white space between them."""

    start: int
    end: int
    """One past its last token."""
    places: Sequence[int]
    """Length n; which tokens of the doc its words are."""
    trees: Trees = field(default_factory=Trees)
    refusal: Refusal | None = None
    """Why it has no tree."""


def doc_of(sentences: Sequence[ParsedSentence], vocab: Vocab | None = None) -> Doc:
    """Returns sentences as one doc, a space between two; see `ParsedSentence.to_doc`."""
    from spacy.tokens import Doc

    words: list[str] = []
    spaces: list[bool] = []
    parts: list[DocSentence] = []
    for sentence in sentences:
        start, places = len(words), list[int]()
        if words:
            spaces[-1] = True
        for number, gap in enumerate(sentence.gaps):
            if number:
                places.append(len(words))
                words.append(sentence.tokens[number - 1])
                spaces.append(gap.startswith(" "))
            if rest := gap.removeprefix(" ") if number else gap:  # is a word of the doc, too
                words.append(rest)
                spaces.append(False)
        parts.append(DocSentence(start, len(words), places, sentence.trees, sentence.refusal))
    doc = Doc(vocab or _english_vocab(), words=words, spaces=spaces)
    annotate(doc, parts)
    return doc


def annotate(doc: Doc, sentences: Sequence[DocSentence]) -> None:
    """Writes the trees of all sentences of a doc into it.

    Tags are written where the doc has none. A sentence that was refused has heads that are not
    set (``token.has_head()`` is false) and is listed in ``doc._.treeviews_refusals``.

    Args:
        sentences: cover the doc's tokens, in their order.
    """
    has_heads = any(sentence.trees.dependencies for sentence in sentences)
    has_spans = any(sentence.trees.constituents for sentence in sentences)
    register_extensions(constituents=has_spans)
    if has_heads:
        _write_heads(doc, sentences)
    if has_heads or not doc.has_annotation("SENT_START"):
        _write_starts(doc, sentences)
    if has_spans:
        if not doc.has_annotation("TAG"):
            _write_tags(doc, sentences)
        doc._.treeviews_constituents = [span for s in sentences for span in _constituents(s)]
        _lent.cache_clear()
    doc._.treeviews_refusals = [
        [s.start, s.end, s.refusal.reason, s.refusal.detail] for s in sentences if s.refusal
    ]


def _write_heads(doc: Doc, sentences: Sequence[DocSentence]) -> None:
    from spacy.attrs import DEP, HEAD

    heads, labels = np.zeros(len(doc), dtype=np.int64), [""] * len(doc)
    for sentence in sentences:
        places, tree = sentence.places, sentence.trees.dependencies
        if tree is None:
            continue
        for place, head, deprel in zip(places, tree.heads, tree.deprels, strict=True):
            heads[place] = places[head - 1] - place if head else 0
            labels[place] = deprel if head else "ROOT"
        for place, word in _white_space(sentence):
            heads[place], labels[place] = word - place, _SPACE_LABEL
    names = [doc.vocab.strings.add(label) if label else 0 for label in labels]
    # Each for itself: a hash takes all 64 bits, and beside signed numbers would become a float.
    values = np.empty((len(doc), 2), dtype=np.uint64)
    values[:, 0], values[:, 1] = heads.astype(np.uint64), names
    doc.from_array([HEAD, DEP], values)


def _write_starts(doc: Doc, sentences: Sequence[DocSentence]) -> None:
    from spacy.attrs import SENT_START

    starts = np.full(len(doc), -1, dtype=np.int64)
    starts[[sentence.start for sentence in sentences]] = 1
    doc.from_array([SENT_START], starts.astype(np.uint64)[:, None])


def _write_tags(doc: Doc, sentences: Sequence[DocSentence]) -> None:
    for sentence in sentences:
        if sentence.trees.constituents is not None:
            for place, tag in zip(sentence.places, sentence.trees.constituents.tags, strict=True):
                doc[place].tag_ = tag
            for place, _ in _white_space(sentence):
                doc[place].tag_ = _SPACE_TAG


def _white_space(sentence: DocSentence) -> Iterator[tuple[int, int]]:
    """Yields the tokens that are no words, each with the word before it, or the first one."""
    words, word = set(sentence.places), sentence.places[0]
    for place in range(sentence.start, sentence.end):
        if place in words:
            word = place
        else:
            yield place, word


def _constituents(sentence: DocSentence) -> Iterator[list[int | str]]:
    """Yields a sentence's constituents over the doc's tokens; the first one is all of it."""
    tree, places = sentence.trees.constituents, sentence.places
    if tree is None:
        return
    yield [sentence.start, sentence.end, tree.labels[0]]
    for start, end, label in list(zip(tree.starts, tree.ends, tree.labels, strict=True))[1:]:
        yield [places[start], places[end - 1] + 1, label]


@cache
def _english_vocab() -> Vocab:
    from spacy.lang.en import English

    vocab: Vocab = English().vocab
    return vocab


def register_extensions(*, constituents: bool = True) -> None:
    """Lets docs have what is written here; to be called before one is read from a file.

    Args:
        constituents: whether benepar's extensions are to read ours, too; imports benepar.
    """
    from spacy.tokens import Doc

    for name in ("treeviews_constituents", "treeviews_refusals"):
        if not Doc.has_extension(name):
            Doc.set_extension(name, default=None)
    if constituents:
        _lend_to_benepar()


@cache
def _lend_to_benepar() -> None:
    """Lets benepar's extensions, which it registers as it is imported, read our constituents."""
    from benepar.integrations import spacy_extensions as theirs
    from spacy.tokens import Doc, Span

    key = ("._.", "_constituent_data", None, None)

    def get(doc: Doc) -> Any:
        if doc._.treeviews_constituents is None:
            return doc.user_data.get(key, theirs.NOT_PARSED_SENTINEL)
        return _lent(doc)

    def put(doc: Doc, value: Any) -> None:
        doc.user_data[key] = value

    def children(span: Span) -> Iterator[Span]:
        if span.doc._.treeviews_constituents is None:
            yield from theirs.get_child_spans(span)
            return
        _, *below = theirs.get_subconstituents(span)
        end = span.start
        for one in below:
            if one.start >= end:  # theirs ends where white space is between two children
                yield one
                end = one.end

    Doc.set_extension("_constituent_data", getter=get, setter=put, force=True)
    Span.set_extension("children", getter=children, force=True)


@lru_cache(maxsize=1)
def _lent(doc: Doc) -> Any:
    """Returns benepar's record: the same spans, and one of each word that has none of its own."""
    from benepar.integrations.spacy_extensions import ConstituentData

    spans = [
        (start, end, tuple(label.split(CHAIN_MARK)))
        for start, end, label in doc._.treeviews_constituents
    ]
    alone = {start for start, end, _ in spans if end == start + 1}
    inside = {token for start, end, _ in spans for token in range(start, end)} if spans else set()
    spans += [(i, i + 1, ()) for i in inside - alone if not doc[i].is_space]
    spans.sort(key=lambda span: (span[0], -span[1]))
    vocabulary = list(dict.fromkeys(labels for _, _, labels in spans))
    numbers = {labels: number for number, labels in enumerate(vocabulary)}
    starts, ends = (np.array([span[i] for span in spans], dtype=int) for i in (0, 1))
    return ConstituentData(
        starts,
        ends,
        np.array([numbers[labels] for _, _, labels in spans], dtype=int),
        np.searchsorted(starts, np.arange(len(doc))),
        vocabulary,
    )


class SpacyParser:
    """Gives docs trees: heads, relations, sentence starts, tags where there are none, constituents.

    The tokens are the doc's. So are the sentences, if a component before it has set them; else
    they are those of `pipeline.text.boundaries`. White space is not parsed.
    """

    def __init__(
        self, *, on_refusal: OnRefusal = "skip", **parsers: Unpack[ParserSettings]
    ) -> None:
        """Takes settings; the parsers are looked for when the first doc comes.

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
        for stage, parser in self._parser.parsers.items():
            place, source = Path(path).resolve() / stage, parser.path.resolve()
            if not source.is_relative_to(place):  # a pipeline may be saved where it was loaded
                shutil.rmtree(place, ignore_errors=True)
                shutil.copytree(source, place / source.name)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> SpacyParser:
        """Takes the parsers of a folder that `to_disk` wrote, from there; returns itself."""
        for stage, option in _OPTIONS.items():
            for folder in (Path(path) / stage).glob("*/"):
                self._settings[option] = folder
        self.__dict__.pop("_parser", None)
        return self


def _with_trees(sentence: DocSentence, trees: Trees | Refusal) -> DocSentence:
    if isinstance(trees, Refusal):
        return replace(sentence, refusal=trees)
    return replace(sentence, trees=trees)


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
