"""Paragraphs out of lines: ended by a blank line, or one on every line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from pipeline.corpora.document import Paragraph, excerpt_of
from pipeline.corpora.text_lines import Line
from pipeline.refusal import Refusal

ParagraphMode = Literal["blank-line", "line"]


def paragraphs_of(
    lines: Iterable[Line | Refusal], name: str, mode: ParagraphMode, *, max_characters: int
) -> Iterator[Paragraph | Refusal]:
    """Yields the paragraphs of a file; refusals pass through and end the paragraph before them.

    Args:
        name: names the file in positions.
        mode: ``blank-line``: lines up to a blank one are joined; ``line``: every line is one.
        max_characters: a longer paragraph is refused as ``giant_paragraph``; of it, no more than
            this is held.
    """
    collected: list[str] = []
    first = characters = 0
    for line in lines:
        if isinstance(line, Line) and mode == "blank-line" and line.text.strip():
            first = first if characters else line.number
            if characters <= max_characters:
                collected.append(line.text)
            characters += len(line.text) + 1
            continue
        if characters:
            yield _joined(collected, f"{name}:{first}", characters, max_characters)
            collected, characters = [], 0
        if isinstance(line, Refusal):
            yield line
        elif line.text.strip():
            yield Paragraph(line.text, f"{name}:{line.number}")
    if characters:
        yield _joined(collected, f"{name}:{first}", characters, max_characters)


def _joined(
    lines: list[str], position: str, characters: int, max_characters: int
) -> Paragraph | Refusal:
    text = " ".join(lines)
    if characters - 1 <= max_characters:
        return Paragraph(text, position)
    detail = (
        f"{characters:,} characters without a blank line, at most {max_characters:,}; separate "
        "paragraphs by blank lines, or set paragraphs=line if every line is one"
    )
    return Refusal("giant_paragraph", detail, position, excerpt_of(text))
