"""Documents out of JSON lines: one object a line, its text in one field."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from pipeline.corpora.document import Document, Paragraph, excerpt_of
from pipeline.corpora.paragraphs import ParagraphMode, paragraphs_of
from pipeline.corpora.text_lines import Line
from pipeline.refusal import Refusal


def documents_of(
    lines: Iterable[Line | Refusal],
    name: str,
    *,
    text_field: str,
    mode: ParagraphMode,
    max_characters: int,
) -> Iterator[Document]:
    """Yields one document a line; blank lines are passed over.

    A line that is no JSON object (``bad_json``), or has no text in its field (``missing_text``,
    ``empty_text``), gives a document of one refusal.
    """
    for line in lines:
        if isinstance(line, Refusal):
            yield Document(line.position, [line])
        elif line.text.strip():
            position = f"{name}:{line.number}"
            text = _text_field(line.text, position, text_field)
            if isinstance(text, Refusal):
                yield Document(position, [text])
            else:
                yield Document(position, _paragraphs(text, position, mode, max_characters))


def _text_field(line: str, position: str, text_field: str) -> str | Refusal:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of 5,000 digits
        return Refusal("bad_json", f"not JSON ({error}); mend the line", position, excerpt_of(line))
    text = value.get(text_field) if isinstance(value, dict) else None
    if not isinstance(text, str):
        detail = f"no text in field {text_field!r}; set text_field to the field that holds it"
        return Refusal("missing_text", detail, position, excerpt_of(line))
    if not text.strip():
        return Refusal("empty_text", f"field {text_field!r} is empty", position, excerpt_of(line))
    return text


def _paragraphs(
    text: str, position: str, mode: ParagraphMode, max_characters: int
) -> Iterator[Paragraph | Refusal]:
    """Yields a text's paragraphs; positions are ``file:line of file:line of text``."""
    lines = (
        Line(number, line.rstrip("\n"))
        for number, line in enumerate(io.StringIO(text, newline=None), start=1)
    )
    return paragraphs_of(lines, position, mode, max_characters=max_characters)
