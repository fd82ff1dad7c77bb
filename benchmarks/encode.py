"""Measures how fast encoders make vectors of raw text, from strings, on one core.

``python -m benchmarks.encode`` has each encoder encode distinct sentences in a process of its own,
so that the first call counts what it loads and memory is the encoder's. Rates are of the
processor's time. The last line it prints is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch

from benchmarks.encode_process import VS_PARSERS
from benchmarks.harness import Benchmark, Measured, Table, check_least, measured_apart, tell
from benchmarks.stopwatch import children_cpu_seconds
from treeviews.pipeline.base.bundled import BUNDLED_MODELS
from treeviews.pipeline.text.boundaries import sentence_ranges
from treeviews.pipeline.text.documents import Paragraph
from treeviews.pipeline.text.text_sources import PythonDocs
from treeviews.pipeline.text.tokenization import (
    EnglishTokenizer,
    SentenceConfig,
    clean_text,
    refuse_sentence,
)

SENTENCES = 50_000
QUICK = {"sentences": 2_000}
COLD_SHARE = 10
"""The first of so many parts is what the encoder has met nothing before."""
MIN_SENTENCES = 2 * COLD_SHARE
STARTS = 3
"""New processes, of which the first may find files that are not in memory yet."""


def _measure(options: argparse.Namespace) -> Measured:
    torch.set_num_threads(1)  # as in the process that is measured
    encoders, sentences = chosen(options)
    _check_names(encoders)
    figures = {
        encoder: _measure_apart(encoder, sentences) | _warm_start(encoder, sentences[0])
        for encoder in encoders
    }
    words = sum(len(sentence.split()) for sentence in sentences) / len(sentences)
    return Measured(
        [figures_table("Raw text to vectors", figures, _notes(len(sentences) // COLD_SHARE))],
        {**_named(figures), "sentences": len(sentences), "encoders": encoders},
        text=f"{text_in_words(options, sentences)}, {words:.1f} words each",
    )


def chosen(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Returns the encoders and the sentences that the options ask for.

    Raises:
        OSError, ValueError: the text cannot be read, or has too few sentences to measure.
    """
    check_least(options, sentences=MIN_SENTENCES)
    sentences = distinct_sentences(options.text, options.sentences)
    return list(dict.fromkeys(options.encoder or BUNDLED_MODELS)), sentences


def text_in_words(options: argparse.Namespace, sentences: Sequence[str]) -> str:
    """Returns what was read."""
    what = options.text or "Python's documentation, as in the default run"
    return f"{len(sentences):,} distinct sentences of {what}"


def figures_table(
    title: str, figures: Mapping[str, Mapping[str, float]], notes: Sequence[str]
) -> Table:
    """Returns a column an encoder and a row a figure; empty where an encoder has none."""
    names = dict.fromkeys(name for found in figures.values() for name in found)
    rows = [
        [name, *(f"{found[name]:,.2f}" if name in found else "" for found in figures.values())]
        for name in names
    ]
    return Table(title, ("what", *figures), rows, notes)


def named_by_encoder(figures: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Returns all figures in one row: ``english_trees_sentences_per_second``."""
    return {
        f"{slug(encoder)}_{name}": value
        for encoder, found in figures.items()
        for name, value in found.items()
    }


def _notes(cold: int) -> list[str]:
    """Returns what the table's rows mean.

    Args:
        cold: sentences that an encoder has met nothing before.
    """
    return [
        f"cold: the first {cold:,} sentences after one; then the others, which are distinct, too",
        "sentences a second of processor time, one thread, strings to vectors",
        "first call: seconds of processor time to import, load and encode one sentence",
        f"warm start: a new process from Python's start to the first vector, the best of {STARTS}: "
        "seconds on the clock, which other processes lengthen, and of processor time",
        "peak: resident memory of the process in MiB, the vectors of all sentences included",
        f"{VS_PARSERS}: of the rate at which its parsers alone would read the same sentences",
    ]


def _check_names(encoders: Sequence[str]) -> None:
    """Refuses encoders whose figures would be called alike.

    Raises:
        ValueError: names two of them.
    """
    first: dict[str, str] = {}
    for encoder in encoders:
        if (other := first.setdefault(slug(encoder), encoder)) != encoder:
            raise ValueError(
                f"{other!r} and {encoder!r} would both have figures called "
                f"{slug(encoder)}_sentences_per_second; measure one at a time"
            )


def slug(encoder: str) -> str:
    """Returns what an encoder's figures are called by."""
    return re.sub(r"[^0-9a-z]+", "_", encoder.lower())


def _named(figures: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Returns all figures in one row.

    The first call is that of the first encoder, too, and ``trees_vs_parsers`` of the last that has
    parsers.
    """
    first = next(iter(figures.values()))
    shared = {"first_call_seconds": first["first_call_seconds"]}
    for found in figures.values():
        if VS_PARSERS in found:
            shared["trees_vs_parsers"] = found[VS_PARSERS]
    return named_by_encoder(figures) | shared


def add_encoder_options(parser: argparse.ArgumentParser, most: int = SENTENCES) -> None:
    """Gives a command line the options of benchmarks of encoders.

    Args:
        most: sentences that are taken by default.
    """
    add = parser.add_argument
    shipped = ", ".join(BUNDLED_MODELS)
    add("encoder", nargs="*", help=f"names of encoders; default: those that ship, {shipped}")
    add("--text", type=Path, help="UTF-8, a sentence a line; default: the default run's sentences")
    add("--sentences", type=int, default=most, help=f"at most so many; default: {most}")


def distinct_sentences(text: Path | None, wanted: int) -> list[str]:
    """Returns the first distinct lines of a text, or sentences of the embedded corpus.

    Raises:
        OSError, ValueError: the file cannot be read, or has too few sentences to measure.
    """
    found: dict[str, None] = {}
    for sentence in _own_sentences() if text is None else _lines(text):
        found[sentence] = None
        if len(found) == wanted:
            break
    if len(found) < MIN_SENTENCES:
        raise ValueError(
            f"{text}: {len(found)} distinct sentences, too few to measure; give a text of "
            f"{MIN_SENTENCES} lines or more"
        )
    return list(found)


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as lines:
        yield from filter(None, map(str.strip, lines))


def _own_sentences() -> Iterator[str]:
    """Yields the sentences of the embedded corpus as they stand in it, in the default run's order.

    A parsed corpus holds tokens, so it is no raw text.
    """
    tokenizer, config = EnglishTokenizer(), SentenceConfig()
    for document in PythonDocs().documents():
        paragraphs = (item for item in document.paragraphs if isinstance(item, Paragraph))
        texts = [clean_text(paragraph.text)[0] for paragraph in paragraphs]
        for tokens in tokenizer.tokenize(texts):
            for part in (slice(*ends) for ends in sentence_ranges(tokens.words, tokens.spaces)):
                if refuse_sentence(tokens.words[part], config) is None:
                    spaced = zip(tokens.words[part], tokens.spaces[part], strict=True)
                    yield "".join(word + " " * space for word, space in spaced).strip()


def _measure_apart(encoder: str, sentences: Sequence[str]) -> dict[str, float]:
    """Returns the figures that a process of its own measures."""
    tell(f"encoding: {encoder}")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "sentences.json"
        path.write_text(json.dumps(sentences), encoding="utf-8")
        cold = len(sentences) // COLD_SHARE
        module = ("-m", "benchmarks.encode_process")
        return measured_apart(*module, encoder, str(path), str(cold))


def _warm_start(encoder: str, sentence: str) -> dict[str, float]:
    """Returns what a user waits for the first vector in a new process, files being in memory."""
    code = "import sys, treeviews; treeviews.encode(sys.argv[2], sys.argv[1])"
    clock, processor = [], []
    for number in range(STARTS):
        tell(f"start {number + 1} of {STARTS}: {encoder}")
        spent, start = children_cpu_seconds(), time.perf_counter()
        measured_apart("-c", code, encoder, sentence)
        clock.append(time.perf_counter() - start)
        processor.append(children_cpu_seconds() - spent)
    return {
        "warm_start_seconds": round(min(clock), 2),
        "warm_start_processor_seconds": round(min(processor), 2),
    }


main = Benchmark("benchmarks.encode", __doc__ or "", add_encoder_options, _measure, QUICK)

if __name__ == "__main__":
    sys.exit(main())
