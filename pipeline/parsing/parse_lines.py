"""Lines of text to lines of trees, for command lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO

from pipeline.base.foreign_text import decoded_lines, told
from pipeline.parsing.formats import Format, written
from pipeline.parsing.parse_text import OnRefusal, Parser
from pipeline.parsing.parsed_sentence import ParsedSentence

_REMEDY = "mend or remove it, or give --on-refusal skip, which goes on without its trees"

_HINT = "; --split finds the sentences where a line is a text"


def parse_lines(
    stream: IO[bytes],
    parser: Parser,
    form: Format,
    *,
    name: str,
    split: bool = False,
    on_refusal: OnRefusal = "error",
    on_sentence: Callable[[ParsedSentence], None] | None = None,
) -> Iterator[str]:
    """Yields the text of each sentence's trees, line ends included; memory does not grow.

    Args:
        stream: UTF-8 text, a sentence a line.
        parser: has the parsers that the format needs.
        form: ``conllu``, ``brackets`` or ``json``; `pipeline.parsing.formats.written` says what
            becomes of a refused sentence.
        name: of the stream, for messages.
        split: the stream is a text instead, whose sentences are found; it is read whole.
        on_refusal: ``error`` ends it at the first sentence that cannot be parsed, ``skip`` goes on
            with one that has no trees.
        on_sentence: is told each sentence, a refused one, too.

    Raises:
        ValueError: a line is not UTF-8, there are no sentences, or one is refused and
            ``on_refusal`` is ``error``; names the stream and the line or sentence.
        RuntimeError: memory, the device or a parser failed.
    """
    lines = decoded_lines(stream, name)
    texts = ["\n".join(lines)] if split else lines

    def sentences() -> Iterator[ParsedSentence]:
        sentence = None
        # Refused here rather than by the stream, which knows neither its name nor its lines.
        for sentence in parser.stream(texts, split=split, on_refusal="skip"):
            if on_refusal == "error" and (refusal := sentence.refusal) is not None:
                hint = "" if split or refusal.reason != "too_long" else _HINT
                raise ValueError(f"{_refused(sentence, name, split)}; {_REMEDY}{hint}")
            if on_sentence is not None:
                on_sentence(sentence)
            yield sentence
        if sentence is None:
            raise ValueError(f"{name}: no sentences; give {'a text' if split else 'one a line'}")

    return written(sentences(), form)


def _refused(sentence: ParsedSentence, name: str, split: bool) -> str:
    """Returns where a sentence stands and why it has no trees, in words."""
    assert sentence.refusal is not None
    number = sentence.sent_id.rpartition("-")[2]
    detail = f" ({told(sentence.refusal.detail)})" if sentence.refusal.detail else ""
    place = f"{name}, {'sentence' if split else 'line'} {number}"
    return f"{place}: {sentence.refusal.reason}{detail}"
