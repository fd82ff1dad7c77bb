r"""Parsed sentences as text: CoNLL-U, brackets, JSON lines.

CoNLL-U as universaldependencies.org/format.html has it. What stands around tokens follows UDPipe's
keys of the last column: ``SpaceAfter=No`` for nothing, nothing for one space, else ``SpacesAfter``
(and ``SpacesBefore`` a first token) with ``\s``, ``\t``, ``\n``, ``\r``, ``\p`` for a bar, ``\\``
for a backslash. Differs from UDPipe in ``\uXXXX`` for what cannot be printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, get_args

from pipeline.base.atomic_files import write_by_library
from pipeline.base.foreign_text import printable
from pipeline.parsing.parsed_sentence import ParsedSentence

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


def format_of(path: Path) -> Format:
    """Returns the format that a file's name stands for.

    Raises:
        ValueError: it stands for none; says which ends do.
    """
    form = _FORMAT_OF_SUFFIX.get(path.suffix.lower())
    if form is None:
        known = ", ".join(f"{suffix} ({of})" for suffix, of in _FORMAT_OF_SUFFIX.items())
        raise ValueError(f"{path}: its name tells no format; let it end in one of {known}")
    return form


def written(sentences: Iterable[ParsedSentence], form: Format) -> Iterator[str]:
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

    What becomes of these, `written` says.

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
            stream.writelines(written(counted(), form))

    write_by_library(path, write)
    return num_refused


def conllu_of(sentence: ParsedSentence) -> str:
    """Returns a sentence in CoNLL-U; see `ParsedSentence.to_conllu`."""
    from pipeline.text.tokenization import separates

    tree = sentence.dependencies("be written in CoNLL-U")
    tags = sentence.tags or ["_"] * len(sentence.tokens)
    gaps = gaps_of(sentence)
    text, rows = "", []
    is_unplaced = sentence.place is not None and sentence.place.in_source is False
    columns = zip(sentence.tokens, tags, tree.heads, tree.deprels, gaps[1:], strict=True)
    for number, (token, tag, head, deprel, after) in enumerate(columns, start=1):
        is_last = number == len(sentence.tokens)
        form = _BREAKS.sub("␣", token)
        text += form + (" " if separates(after) and not is_last else "")
        place = []
        if not is_unplaced:
            place.append(f"TokenRange={':'.join(map(str, sentence.offsets[number - 1]))}")
        if number == 1 and gaps[0]:
            place.append(f"SpacesBefore={_escaped(gaps[0])}")
        if not (separates(after) or is_last):
            place.append("SpaceAfter=No")
        if after not in ("", "" if is_last else " "):
            place.append(f"SpacesAfter={_escaped(after)}")
        row = (number, form, "_", "_", tag, "_", head, deprel, "_", "|".join(place) or "_")
        rows.append("\t".join(map(str, row)))
    comments = [f"# sent_id = {sentence.sent_id}"]
    if sentence.place is not None:
        comments.append(f"# sentence_index = {sentence.place.sentence_index}")
    return "\n".join((*comments, f"# text = {text}", *rows)) + "\n\n"


def gaps_of(sentence: ParsedSentence) -> list[str]:
    """Returns what stands before, between and after the n tokens; length n + 1."""
    text, base = sentence.text, sentence.start
    ends = [0, *(end - base for _, end in sentence.offsets)]
    starts = [*(start - base for start, _ in sentence.offsets), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


def _escaped(gap: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[0]) or _numbered(found[0]), gap)


def _numbered(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
