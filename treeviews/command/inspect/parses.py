"""``inspect diff``: two parses of one corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treeviews.command.inspect.arguments import print_lines, selected
from treeviews.command.output import AsJson, check_output, print_json

_WHAT = (
    "A folder of dependencies or constituents, one of its shards, or a corpus folder with one "
    "parse of a kind. A corpus with two parses of a kind can be given twice."
)


def diff(
    first: Annotated[str, typer.Argument(metavar="A", help=_WHAT)],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one, of the same sentences.")],
    rows: Annotated[
        int, typer.Option("-n", min=0, max=1_000, metavar="ROWS", help="Sentences shown.")
    ] = 5,
    min_length: Annotated[
        int, typer.Option(min=1, help="Tokens that a sentence shown has at least.")
    ] = 5,
    out: Annotated[
        Path | None, typer.Option("--out", help="Draw these sentences in this file, too.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two parses of the same sentences: agreement, and the sentences that differ most."""
    if out is not None:
        check_output(out)

    from pipeline.inspect.agreement.comparison import compare
    from pipeline.inspect.agreement.shown import comparison_lines, drawn_differences
    from pipeline.inspect.agreement.two_parses import pairs_of_parses
    from pipeline.inspect.drawing.page import write_page

    pairs = pairs_of_parses(selected(first), selected(second))
    found = []
    for parses in pairs:
        found.append(compare(parses, most=rows, min_length=min_length))
        if not as_json:
            print_lines(comparison_lines(found[-1]))
            print()
    if as_json:
        print_json([one.to_dict() for one in found])
    if out is not None:
        facts = [
            (f"{one.stage}, {which}", str(folder.path))
            for one in pairs
            for which, folder in (("first", one.first), ("second", one.second))
        ]
        drawn = (sentence for one in found for sentence in drawn_differences(one))
        write_page(out, "Sentences that two parses differ in most", facts, drawn)
        if not as_json:
            print_lines([str(out)])
