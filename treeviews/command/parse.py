"""``treeviews parse``: text in, trees out."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from treeviews.command.output import check_output, count_teller, say, standard_output_named
from treeviews.pipeline.base.foreign_text import told

if TYPE_CHECKING:
    from treeviews.pipeline.parsing.parsed_sentence import ParsedSentence


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command("parse")(parse)


def parse(
    source: Annotated[
        Path | None, typer.Option("--input", help="Text file; by default standard input.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--out", "--output", help="File; by default standard output.")
    ] = None,
    form: Annotated[
        Literal["conllu", "brackets", "json"] | None,
        typer.Option("--format", help="By default what --out ends in, or else conllu."),
    ] = None,
    split: Annotated[
        bool, typer.Option("--split", help="The input is a text, whose sentences are found.")
    ] = False,
    dependencies: Annotated[
        bool | None, typer.Option(help="Heads and relations; by default where the format has them.")
    ] = None,
    constituents: Annotated[
        bool, typer.Option(help="Constituents and tags; without them conllu has no tags.")
    ] = True,
    dependency_parser: Annotated[
        str | None, typer.Option(help="A folder, or the name of one that ships.")
    ] = None,
    constituency_parser: Annotated[
        str | None, typer.Option(help="A folder, or the name of one that ships.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...")] = "cpu",
    on_refusal: Annotated[
        Literal["error", "skip"],
        typer.Option(help="A sentence that cannot be parsed: an error, or told and without trees."),
    ] = "error",
) -> None:
    """Parse sentences: parse < sentences.txt > trees.conllu.

    One sentence a line of UTF-8 text goes in; trees come out in the same order. Of a sentence
    without trees, JSON says why, brackets have an empty line, and conllu lacks its sent_id.
    """
    if output is not None:
        check_output(output)

    from treeviews.pipeline.base.atomic_files import write_by_library
    from treeviews.pipeline.parsing.parse_text import Parser, parse_lines
    from treeviews.pipeline.parsing.parsed_sentence import format_of

    form = form or (format_of(output) if output else "conllu")
    parser = Parser(
        dependencies=form != "brackets" if dependencies is None else dependencies,
        constituents=constituents,
        dependency_parser=dependency_parser,
        constituency_parser=constituency_parser,
        device=device,
    )
    report = _Report()
    with ExitStack() as files:
        stream = sys.stdin.buffer if source is None else files.enter_context(source.open("rb"))
        lines = parse_lines(
            stream,
            parser,
            form,
            name="standard input" if source is None else str(source),
            split=split,
            on_refusal=on_refusal,
            on_sentence=report.take,
        )
        if output is None:
            with standard_output_named():
                sys.stdout.buffer.writelines(line.encode() for line in lines)
        else:
            write_by_library(output, lambda path: _write(path, lines))
    report.end()


def _write(path: Path, lines: Iterable[str]) -> None:
    with path.open("wb") as file:
        file.writelines(line.encode() for line in lines)


class _Report:
    """Tells what is refused, every few seconds how far it is, and how fast it was."""

    def __init__(self) -> None:
        self.num_sentences = self.num_refused = 0
        self.started = time.monotonic()
        self.tell = count_teller()

    def take(self, sentence: ParsedSentence) -> None:
        """Counts a sentence."""
        self.num_sentences += 1
        if (refusal := sentence.refusal) is not None:
            self.num_refused += 1
            detail = f" ({told(refusal.detail)})" if refusal.detail else ""
            say(f"no trees for sentence {sentence.sent_id}: {refusal.reason}{detail}")
        self.tell(self.num_sentences)

    def end(self) -> None:
        """Tells what was done."""
        seconds = time.monotonic() - self.started
        say(
            f"{self.num_sentences} sentences, {self.num_refused} refused, {seconds:.1f} s, "
            f"{self.num_sentences / max(seconds, 1e-9):.0f} sentences/s"
        )
