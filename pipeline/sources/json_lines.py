"""Documents from lines of JSON, one a line."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from pipeline.base.refusal import Refusal, excerpt_of
from pipeline.sources.paragraphs import Document, Line, ParagraphMode, paragraphs_of


def json_documents(
    lines: Iterable[Line | Refusal],
    name: str,
    text_field: str,
    mode: ParagraphMode,
    max_characters: int,
) -> Iterator[Document]:
    """Yields one document a line of JSON; blank lines are passed over.

    A line that is no JSON object (``bad_json``), or has no text in its field (``missing_text``,
    ``empty_text``), gives a document of one refusal. A paragraph's position is the file, the line
    in it and the line in the text, as ``a.jsonl:3:1``.

    Args:
        name: names the file in positions.
        text_field: of the objects, that holds the text.
        mode, max_characters: of the text's paragraphs; see `paragraphs_of`.
    """
    for line in lines:
        if isinstance(line, Refusal):
            yield Document(line.position, [line])
        elif line.text.strip():
            position = f"{name}:{line.number}"
            text = _text_field(line.text, position, text_field)
            if isinstance(text, Refusal):
                yield Document(position, [text])
                continue
            text_lines = (
                Line(number, text_line.rstrip("\n"))
                for number, text_line in enumerate(io.StringIO(text, newline=None), start=1)
            )
            paragraphs = paragraphs_of(text_lines, position, mode, max_characters=max_characters)
            yield Document(position, paragraphs)


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
