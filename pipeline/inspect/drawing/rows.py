"""The drawings of a sentence as the shards have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.inspect.drawing.arcs import arcs_svg
from pipeline.inspect.drawing.page import DrawnSentence, Figure
from pipeline.inspect.drawing.phrases import binary_svg, constituents_svg
from pipeline.trees.flat import validate_constituents, validate_heads
from pipeline.trees.parses import ConstituencyParse, DependencyParse


def drawn_row(place: str, row: Mapping[str, Any], about: str = "") -> DrawnSentence:
    """Returns all drawings of a row: its arcs, its phrases, and these binarized.

    Args:
        place: where it stands.
        row: the columns of all stages that there are, the sentences among them.
        about: what else is to be said of it.
    """
    tokens = row["tokens"]
    figures: list[list[Figure]] = []
    if "heads" in row:
        figures.append([dependency_figure("dependencies", tokens, row)])
    if "span_starts" in row:
        figures.append(_constituent_figures(tokens, row))
    where = f"{row['document_id']}, sentence {row['sentence_index']}"
    words = f"{len(tokens)} {'token' if len(tokens) == 1 else 'tokens'}"
    said = ", ".join(filter(None, (where, words, about)))
    return DrawnSentence(place, said, tokens, figures)


def dependency_figure(
    caption: str, tokens: list[str], row: Mapping[str, Any], marked: frozenset[int] = frozenset()
) -> Figure:
    """Returns the arcs of a row, or that the parser rejected it.

    Args:
        caption: what stands below.
        tokens: of the sentence.
        row: the columns of a stage of dependencies.
        marked: positions of tokens whose arcs are to be looked at.
    """
    if row["heads"] is None:
        return Figure(f"{caption}: rejected by the parser")
    parse = DependencyParse(row["heads"], row["deprels"])
    fault = validate_heads(parse.heads)
    if not len(tokens) == len(parse.heads) == len(parse.deprels):
        fault = f"{len(parse.heads)} heads for {len(tokens)} tokens"
    if fault is not None:
        return Figure(f"{caption}: no tree ({fault}); `inspect check` says more")
    return Figure(caption, arcs_svg(tokens, parse, marked=marked))


def constituent_figure(
    caption: str,
    tokens: list[str],
    row: Mapping[str, Any],
    marked: frozenset[tuple[int, int]] = frozenset(),
) -> Figure:
    """Returns the phrases of a row, or that the parser rejected it.

    Args:
        caption: what stands below.
        tokens: of the sentence.
        row: the columns of a stage of constituents.
        marked: token ranges whose labels are to be looked at.
    """
    if row["span_starts"] is None:
        return Figure(f"{caption}: rejected by the parser")
    parse = constituency_of(row)
    if (fault := validate_constituents(parse, len(tokens))) is not None:
        return Figure(f"{caption}: no tree ({fault}); `inspect check` says more")
    return Figure(caption, constituents_svg(tokens, parse, marked=marked))


def _constituent_figures(tokens: list[str], row: Mapping[str, Any]) -> list[Figure]:
    original = constituent_figure("constituents", tokens, row)
    if not original.svg:
        return [original]
    binary = binary_svg(tokens, row["binary_left"], row["binary_right"], constituency_of(row))
    return [original, Figure("binarized, as encoders read it", binary)]


def constituency_of(row: Mapping[str, Any]) -> ConstituencyParse:
    """Returns the constituency tree of a row that has one."""
    columns = ("span_starts", "span_ends", "span_labels", "tags")
    return ConstituencyParse(*(row[name] for name in columns))
