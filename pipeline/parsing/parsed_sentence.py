r"""A sentence with its trees as a program holds it, and its text: CoNLL-U, brackets, JSON.

CoNLL-U as universaldependencies.org/format.html has it. What stands around tokens follows UDPipe's
keys of the last column: ``SpaceAfter=No`` for nothing, nothing for one space, else ``SpacesAfter``
(and ``SpacesBefore`` a first token) with ``\s``, ``\t``, ``\n``, ``\r``, ``\p`` for a bar, ``\\``
for a backslash. Differs from UDPipe in ``\uXXXX`` for what cannot be printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from treeviews.pipeline.base.atomic_files import write_by_library
from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.trees.flat_trees import (
    BinaryTree,
    ConstituencyParse,
    DependencyParse,
    binarize,
)
from treeviews.pipeline.trees.treebanks import to_brackets

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    from treeviews.pipeline.text.aligned import Offsets

Format = Literal["conllu", "brackets", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
_FORMAT_OF_SUFFIX: dict[str, Format] = {
    ".conllu": "conllu",
    ".mrg": "brackets",
    ".brackets": "brackets",
    ".jsonl": "json",
}

_ESCAPES = {" ": r"\s", "\t": r"\t", "\n": r"\n", "\r": r"\r", "|": r"\p", "\\": r"\\"}
_ESCAPED = re.compile(r"[\s|\\]|[^ -~]")
_BREAKS = re.compile(r"[\t\n\r]")
"""In a token, as only shards made elsewhere have it; a cell would end there."""


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
        from treeviews.pipeline.text.tokenization import clean_text

        return [clean_text(token)[0] for token in self.tokens]

    @property
    def gaps(self) -> list[str]:
        """What stands in the text before, between and after the tokens; length n + 1."""
        ends = [0, *(end - self.start for _, end in self.offsets)]
        starts = [*(start - self.start for start, _ in self.offsets), len(self.text)]
        return [self.text[end:start] for end, start in zip(ends, starts, strict=True)]

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

    def binarized(self) -> BinaryTree:
        """Returns the constituents as a binary tree over the tokens, left-branching.

        Raises:
            ValueError: the sentence has no constituents.
        """
        return binarize(self._tree("constituents"))

    def to_conllu(self) -> str:
        """Returns the dependency tree in CoNLL-U, an empty line at its end.

        Tags are those of the constituents, if these were asked for. The last column says where a
        token stands (``TokenRange=4:7``) and what white space is around it, if not one space.

        Raises:
            ValueError: the sentence has no dependencies.
        """
        from treeviews.pipeline.text.tokenization import separates

        tree = self._tree("dependencies")
        tags = self.tags or ["_"] * len(self.tokens)
        gaps = self.gaps
        text, rows = "", []
        is_unplaced = self.place is not None and self.place.in_source is False
        columns = zip(self.tokens, tags, tree.heads, tree.deprels, gaps[1:], strict=True)
        for number, (token, tag, head, deprel, after) in enumerate(columns, start=1):
            is_last = number == len(self.tokens)
            form = _BREAKS.sub("␣", token)
            text += form + (" " if separates(after) and not is_last else "")
            place = []
            if not is_unplaced:
                place.append(f"TokenRange={':'.join(map(str, self.offsets[number - 1]))}")
            if number == 1 and gaps[0]:
                place.append(f"SpacesBefore={_escaped(gaps[0])}")
            if not (separates(after) or is_last):
                place.append("SpaceAfter=No")
            if after not in ("", "" if is_last else " "):
                place.append(f"SpacesAfter={_escaped(after)}")
            row = (number, form, "_", "_", tag, "_", head, deprel, "_", "|".join(place) or "_")
            rows.append("\t".join(map(str, row)))
        comments = [f"# sent_id = {self.sent_id}"]
        if self.place is not None:
            comments.append(f"# sentence_index = {self.place.sentence_index}")
        return "\n".join((*comments, f"# text = {text}", *rows)) + "\n\n"

    def to_brackets(self) -> str:
        """Returns the constituents on one line: ``(S (NP (PRP It)) (VP (VBZ rains)) (. .))``.

        Brackets among the tokens are written as in the Penn Treebank (``-LRB-``).

        Raises:
            ValueError: the sentence has no constituents.
        """
        return to_brackets(self.tokens, self._tree("constituents"))

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
        """
        from treeviews.pipeline.parsing.spacy_docs import doc_of  # imports numpy

        return doc_of([self], vocab)

    def _tree(self, stage: str) -> Any:
        tree = getattr(self.trees, stage)
        if tree is None:
            why = f"parse with {stage}=True"
            if self.refusal is not None:
                why = f"it was refused ({self.refusal.reason})"
            raise ValueError(f"sentence {self.sent_id} has no {stage}: {why}")
        return tree


def format_of(path: Path) -> Format:
    """Returns the format that a file's name stands for.

    Raises:
        ValueError: it stands for none; says which ends do.
    """
    form = _FORMAT_OF_SUFFIX.get(path.suffix.lower())
    if form is None:
        known = ", ".join(f"{suffix} ({of})" for suffix, of in _FORMAT_OF_SUFFIX.items())
        raise ValueError(
            f"{path}: its name tells no format; give one by --format, or let it end in {known}"
        )
    return form


def format_sentences(sentences: Iterable[ParsedSentence], form: Format) -> Iterator[str]:
    """Yields the text of each sentence, line ends included, in their order.

    A refused sentence is an object that says why in JSON, an empty line in brackets, and nothing
    in CoNLL-U, which has no place for it; there its ``sent_id`` is missing. Texts that were split
    are documents of CoNLL-U (``# newdoc id``), and so are a corpus' own.

    Raises:
        ValueError: no such format, or a sentence without the trees that it writes.
    """
    if form not in FORMATS:
        raise ValueError(f"unknown format {form!r}; known: {', '.join(FORMATS)}")
    document: object = None
    for sentence in sentences:
        if form == "json":
            yield sentence.to_json() + "\n"
        elif form == "brackets":
            yield ("" if sentence.refusal else sentence.to_brackets()) + "\n"
        elif sentence.refusal is None:
            before, document = document, _document_of(sentence)
            is_new = document not in (None, before)
            yield (f"# newdoc id = {document}\n" if is_new else "") + sentence.to_conllu()


def _document_of(sentence: ParsedSentence) -> str | None:
    """Returns the name of a sentence's document in CoNLL-U; None of a lone sentence."""
    if sentence.place is not None:
        return printable(sentence.place.document_id)
    text, _, number = sentence.sent_id.partition("-")
    return text if number else None


def write_parses(
    path: str | Path, sentences: Iterable[ParsedSentence], form: Format | None = None
) -> int:
    """Writes a file that appears whole or not at all; returns how many sentences were refused.

    What becomes of these, `format_sentences` says.

    Args:
        form: ``conllu``, ``brackets`` or ``json`` (lines); by default what the name ends in.

    Raises:
        ValueError: the name tells no format, or a sentence lacks the trees that it writes.
    """
    path = Path(path)
    form = form or format_of(path)
    num_refused = 0

    def counted() -> Iterator[ParsedSentence]:
        nonlocal num_refused
        for sentence in sentences:
            num_refused += sentence.refusal is not None
            yield sentence

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(format_sentences(counted(), form))

    write_by_library(path, write)
    return num_refused


def _escaped(gap: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[0]) or _numbered(found[0]), gap)


def _numbered(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
