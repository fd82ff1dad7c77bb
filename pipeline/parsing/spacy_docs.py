"""Trees in spaCy's ``Doc``: heads, labels, sentence starts, tags, and constituents.

``doc._.treeviews_constituents`` is a list ``[[start, end, label], …]`` over the doc's tokens, in
preorder, and ``doc._.treeviews_refusals`` a list ``[[start, end, reason, detail], …]`` of sentences
without trees; both are written and read with the doc. benepar's extensions read the former as if
benepar had parsed the doc: ``sent._.parse_string``, and ``span._.labels``, ``_.constituents``,
``_.children``, ``_.parent``.

Differs from our own trees in what spaCy asks for: the root's relation is ``ROOT``, white space is
tokens, which hang from the word before them, and the first constituent of a sentence holds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.trees.flat_trees import CHAIN_MARK, ConstituencyParse, DependencyParse

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span
    from spacy.vocab import Vocab

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
    dependencies: DependencyParse | None = None
    constituents: ConstituencyParse | None = None
    refusal: Refusal | None = None
    """Why it has no tree."""


def new_doc(
    words: Sequence[str],
    spaces: Sequence[bool],
    sentences: Sequence[DocSentence],
    vocab: Vocab | None,
) -> Doc:
    """Returns a doc of these words, a space after some, with the trees of its sentences.

    Raises:
        UnicodeEncodeError: a word holds half a character.
    """
    from spacy.tokens import Doc

    doc = Doc(vocab or _english_vocab(), words=words, spaces=spaces)
    annotate(doc, sentences)
    return doc


def annotate(doc: Doc, sentences: Sequence[DocSentence]) -> None:
    """Writes the trees of all sentences of a doc into it.

    Tags are written where the doc has none. A sentence that was refused has heads that are not
    set (``token.has_head()`` is false) and is listed in ``doc._.treeviews_refusals``.

    Args:
        sentences: cover the doc's tokens, in their order.
    """
    has_heads = any(sentence.dependencies for sentence in sentences)
    has_spans = any(sentence.constituents for sentence in sentences)
    register_extensions(constituents=has_spans)
    if has_heads:
        _write_heads(doc, sentences)
    if has_heads or not doc.has_annotation("SENT_START"):
        _write_starts(doc, sentences)
    if has_spans:
        if not doc.has_annotation("TAG"):
            _write_tags(doc, sentences)
        doc._.treeviews_constituents = [span for s in sentences for span in _constituents(s)]
        _LENT.pop(doc, None)
    doc._.treeviews_refusals = [
        [s.start, s.end, s.refusal.reason, s.refusal.detail] for s in sentences if s.refusal
    ]


def _write_heads(doc: Doc, sentences: Sequence[DocSentence]) -> None:
    from spacy.attrs import DEP, HEAD

    heads, labels = np.zeros(len(doc), dtype=np.int64), [""] * len(doc)
    for sentence in sentences:
        if sentence.dependencies is None:
            continue
        places, tree = sentence.places, sentence.dependencies
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
        if sentence.constituents is not None:
            for place, tag in zip(sentence.places, sentence.constituents.tags, strict=True):
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
    if sentence.constituents is None:
        return
    tree, places = sentence.constituents, sentence.places
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


_LENT: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""Doc -> its constituents as benepar's extensions read them."""


@cache
def _lend_to_benepar() -> None:
    """Lets benepar's extensions, which it registers as it is imported, read our constituents."""
    from benepar.integrations import spacy_extensions as theirs
    from spacy.tokens import Doc, Span

    key = ("._.", "_constituent_data", None, None)

    def get(doc: Doc) -> Any:
        if doc._.treeviews_constituents is None:
            return doc.user_data.get(key, theirs.NOT_PARSED_SENTINEL)
        if doc not in _LENT:
            _LENT[doc] = _as_benepar_has_it(doc, doc._.treeviews_constituents)
        return _LENT[doc]

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


def _as_benepar_has_it(doc: Doc, constituents: Sequence[tuple[int, int, str]]) -> Any:
    """Returns benepar's record: the same spans, and one of each word that has none of its own."""
    from benepar.integrations.spacy_extensions import ConstituentData

    spans = [(start, end, tuple(label.split(CHAIN_MARK))) for start, end, label in constituents]
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
