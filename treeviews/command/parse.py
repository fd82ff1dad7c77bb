"""``treeviews parse``: text in, trees out."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal

import typer

from treeviews.command.console import (
    OutputFile,
    TextFile,
    check_output,
    count_teller,
    open_text,
    say,
    say_speed,
)
from treeviews.pipeline.base.foreign_text import decoded_lines, told

if TYPE_CHECKING:
    from treeviews.pipeline.parsing.parsed_sentence import ParsedSentence


def parse(
    source: TextFile = None,
    output: OutputFile = None,
    form: Annotated[
        Literal["conllu", "brackets", "json"] | None,
        typer.Option("--format", help="Default: by the suffix of --out, or conllu."),
    ] = None,
    split: Annotated[
        bool, typer.Option("--split", help="Split the input, a running text, into sentences.")
    ] = False,
    dependencies: Annotated[
        bool | None, typer.Option(help="Heads and relations; default: if the format has them.")
    ] = None,
    constituents: Annotated[
        bool, typer.Option(help="Constituents and tags; conllu takes its tags from them.")
    ] = True,
    dependency_parser: Annotated[
        str | None, typer.Option(help="A parser folder or the name of a bundled parser.")
    ] = None,
    constituency_parser: Annotated[
        str | None, typer.Option(help="A parser folder or the name of a bundled parser.")
    ] = None,
    device: Annotated[str, typer.Option(help="Device: cpu, cuda, cuda:1, …")] = "cpu",
    on_refusal: Annotated[
        Literal["error", "skip"],
        typer.Option(help="For a sentence that cannot be parsed: stop, or report it and go on."),
    ] = "error",
) -> None:
    """Parse sentences into trees.

    Example: treeviews parse < sentences.txt > trees.conllu. Reads UTF-8 text with one sentence per
    line; writes trees in the same order. For a sentence without trees, JSON gives the reason,
    brackets have an empty line, and conllu leaves out its sent_id.
    """
    if output is not None:
        check_output(output)

    from treeviews.pipeline.base.atomic_files import write_by_library
    from treeviews.pipeline.parsing.parse_text import Parser
    from treeviews.pipeline.parsing.parsed_sentence import format_of, format_sentences

    form = form or (format_of(output) if output else "conllu")
    parser = Parser(
        dependencies=form != "brackets" if dependencies is None else dependencies,
        constituents=constituents,
        dependency_parser=dependency_parser,
        constituency_parser=constituency_parser,
        device=device,
    )
    started, tell, counts = time.monotonic(), count_teller(), Counter[str]()

    def take(sentence: ParsedSentence) -> ParsedSentence:
        counts["sentences"] += 1
        if (refusal := sentence.refusal) is not None:
            counts["refused"] += 1
            detail = f" ({told(refusal.detail)})" if refusal.detail else ""
            if on_refusal == "error":
                place = f"{'sentence' if split else 'line'} {sentence.sent_id.rpartition('-')[2]}"
                raise ValueError(
                    f"{source or 'standard input'}, {place}: {refusal.reason}{detail}; "
                    "fix or remove it, or give --on-refusal skip to go on without its trees"
                    + ("" if split else "; --split finds the sentences where a line is a text")
                )
            say(f"no trees for sentence {sentence.sent_id}: {refusal.reason}{detail}")
        tell(counts["sentences"])
        return sentence

    def parsed(stream: IO[bytes], name: str) -> Iterator[ParsedSentence]:
        lines = decoded_lines(stream, name)
        texts = ["\n".join(lines)] if split else lines
        # Refused above rather than by the stream, which knows neither its name nor its lines.
        yield from map(take, parser.stream(texts, split=split, on_refusal="skip"))
        if not counts["sentences"]:
            raise ValueError(f"{name}: no sentences; give {'a text' if split else 'one a line'}")

    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.writelines(encoded)

    with open_text(source) as (stream, name):
        encoded = (line.encode() for line in format_sentences(parsed(stream, name), form))
        if output is None:
            sys.stdout.buffer.writelines(encoded)
            sys.stdout.flush()
        else:
            write_by_library(output, write)
    say_speed(counts["sentences"], counts["refused"], time.monotonic() - started)
