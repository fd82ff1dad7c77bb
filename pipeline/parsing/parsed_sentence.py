"""A sentence with its trees, as whoever asked for them holds it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.base.refusal import Refusal
from pipeline.trees.flat_trees import ConstituencyParse, DependencyParse

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    from pipeline.text.aligned import Offsets
    from pipeline.trees.flat_trees import BinaryTree


class Span(NamedTuple):
    """A constituent: the tokens ``start:end`` of its sentence."""

    start: int
    end: int
    """One past the last token."""
    label: str
    """Labels of a unary chain are joined by ``+``, outermost first: ``S+VP``."""


class InDocument(NamedTuple):
    """Where a corpus' sentence stands."""

    document_id: str
    sentence_index: int
    """In the document, from 0; those that were refused before count, too."""
    in_source: bool | None = None
    """Whether text and offsets are those of the document; if not, the text is the tokens with one
    space between. None where the document was not read for them."""


@dataclass(frozen=True, slots=True)
class Trees:
    """What the parsers gave one sentence; None what was not asked for."""

    dependencies: DependencyParse | None = None
    constituents: ConstituencyParse | None = None


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """A sentence of n tokens, its trees, or why it has none."""

    text: str
    """As it was given: the whole string, or, of a text that was split, this sentence of it."""
    tokens: list[str]
    """Length n; as they stand in the text. `words` has them as the parsers read them."""
    offsets: Offsets
    """Length n; first character of each token and one past its last, in the string that was given:
    ``given[start:end]`` is the token."""
    trees: Trees = Trees()
    refusal: Refusal | None = None
    """Why it has no tree: ``empty``, ``too_long``, ``parser_error`` and what else a parser says."""
    source: int = 0
    """Which of the given strings it is of, from 0."""
    start: int = 0
    """Where ``text`` begins in that string."""
    sent_id: str = "1"
    """``7`` for the seventh sentence, ``7-2`` for the second one of the seventh text, ``0:7`` for
    row 7 of a corpus' shard 0."""
    place: InDocument | None = None
    """Of a corpus' sentence, its document."""

    @property
    def words(self) -> list[str]:
        """Length n; the tokens without soft hyphens and zero-width spaces."""
        from pipeline.text.cleaning import clean_text

        return [clean_text(token)[0] for token in self.tokens]

    @property
    def heads(self) -> list[int] | None:
        """Length n; 1-based head of each token, 0 for the root; None without dependencies."""
        return self.trees.dependencies.heads if self.trees.dependencies else None

    @property
    def deprels(self) -> list[str] | None:
        """Length n; relation of each token to its head; None without dependencies."""
        return self.trees.dependencies.deprels if self.trees.dependencies else None

    @property
    def spans(self) -> list[Span] | None:
        """The constituents in preorder, the whole sentence first; None without constituents."""
        tree = self.trees.constituents
        return list(map(Span, tree.starts, tree.ends, tree.labels)) if tree else None

    @property
    def tags(self) -> list[str] | None:
        """Length n; part-of-speech tag of each token; None without constituents."""
        return self.trees.constituents.tags if self.trees.constituents else None

    def binarized(self, *, order: int = 0) -> BinaryTree:
        """Returns the constituents as a binary tree over the tokens, left-branching.

        Args:
            order: how many labels of siblings the label of a new node names.

        Raises:
            ValueError: the sentence has no constituents.
        """
        from pipeline.trees.flat_trees import binarize

        return binarize(self.constituents("be binarized"), order=order)

    def constituents(self, purpose: str) -> ConstituencyParse:
        """Returns the constituency tree.

        Args:
            purpose: what the sentence cannot do without it, for the message.

        Raises:
            ValueError: it has none.
        """
        if self.trees.constituents is None:
            raise ValueError(self._lacks("constituents", purpose))
        return self.trees.constituents

    def dependencies(self, purpose: str) -> DependencyParse:
        """Returns the dependency tree.

        Args:
            purpose: what the sentence cannot do without it, for the message.

        Raises:
            ValueError: it has none.
        """
        if self.trees.dependencies is None:
            raise ValueError(self._lacks("dependencies", purpose))
        return self.trees.dependencies

    def to_conllu(self) -> str:
        """Returns the dependency tree in CoNLL-U, an empty line at its end.

        Tags are those of the constituents, if these were asked for. The last column says where a
        token stands (``TokenRange=4:7``) and what white space is around it, if not one space.

        Raises:
            ValueError: the sentence has no dependencies.
        """
        from pipeline.parsing.formats import conllu_of

        return conllu_of(self)

    def to_brackets(self) -> str:
        """Returns the constituents on one line: ``(S (NP (PRP It)) (VP (VBZ rains)) (. .))``.

        Brackets among the tokens are written as in the Penn Treebank (``-LRB-``).

        Raises:
            ValueError: the sentence has no constituents.
        """
        from pipeline.trees.treebanks import to_brackets

        return to_brackets(self.tokens, self.constituents("be written in brackets"))

    def to_dict(self) -> dict[str, Any]:
        """Returns all that is known of the sentence in JSON's types; null what there is not.

        A corpus' sentence has its ``document_id`` and ``sentence_index``, too, and ``in_source``
        where its document was read for text and offsets.
        """
        place = self.place._asdict() if self.place else {}
        refusal = self.refusal and {"reason": self.refusal.reason, "detail": self.refusal.detail}
        spans = self.spans
        return {
            "sent_id": self.sent_id,
            **{name: value for name, value in place.items() if value is not None},
            "source": self.source,
            "start": self.start,
            "text": self.text,
            "tokens": self.tokens,
            "offsets": [list(pair) for pair in self.offsets],
            "heads": self.heads,
            "deprels": self.deprels,
            "spans": None if spans is None else [list(span) for span in spans],
            "tags": self.tags,
            "refusal": refusal,
        }

    def to_json(self) -> str:
        """Returns `to_dict` as one line of JSON."""
        line = json.dumps(self.to_dict(), ensure_ascii=False)
        is_unicode = line.encode("utf-8", "ignore").decode() == line  # no half of a character
        return line if is_unicode else json.dumps(self.to_dict())

    def to_doc(self, vocab: Vocab | None = None) -> Doc:
        """Returns spaCy's ``Doc`` of the sentence: its text is ours, with heads, labels and tags.

        White space that spaCy's tokens cannot hold is tokens of its own, as spaCy has it. Of
        constituents see `pipeline.parsing.spacy_docs`.

        Args:
            vocab: of the pipeline that goes on with it; by default one of English.

        Raises:
            ValueError: the text holds half a character, which spaCy cannot take.
        """
        from pipeline.parsing.spacy_docs import doc_of

        return doc_of([self], vocab)

    def _lacks(self, what: str, purpose: str) -> str:
        place = f"sentence {self.sent_id}"
        if self.refusal is not None:
            return f"{place} was refused ({self.refusal.reason}), so it cannot {purpose}"
        return f"{place} has no {what}, so it cannot {purpose}; parse with {what}=True"
