"""Measures how well and how fast text is split into sentences and tokens, beside other libraries.

``python -m benchmarks.splitting --treebank NAME=FILE.conllu …`` splits the raw text of treebanks
and compares sentences and tokens with the annotated ones. It then splits a text by the public
function, and by other libraries: spaCy's sentencizer, nltk's Punkt, pysbd, nupunkt, BlingFire,
sentencex (which of them are not installed is said). Our tokens are compared with those of spaCy's
own rules, text by text. The last line it prints is one JSON object.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.harness import Benchmark, Measured, Table, measured_apart, tell
from benchmarks.references.splitters import SPLITTERS, Splitter, sentencizer_pipeline
from benchmarks.splitting_process import IN_MEMORY, paragraphs_of, write_default_text
from benchmarks.splitting_treebanks import Agreement, GoldParagraph, read_paragraphs
from treeviews.pipeline.text.boundaries import sentence_ranges
from treeviews.pipeline.text.tokenization import (
    EnglishTokenizer,
    TokenizedText,
    clean_text,
    tokenized_by_spacy,
)

OURS = "Treeviews"
QUICK = {"others_seconds": 3.0, "compared_paragraphs": 2_000}
Treebanks = dict[str, list[GoldParagraph]]


def _measure(options: argparse.Namespace) -> Measured:
    torch.set_num_threads(1)  # as in the processes that are measured
    treebanks = _treebanks(options.treebank)
    with tempfile.TemporaryDirectory() as scratch:
        if not options.text:
            write_default_text(Path(scratch))
        texts = list(map(str, options.text)) or [scratch]
        sample = paragraphs_of(texts, options.compared_paragraphs)
        if not sample:
            raise ValueError("the text has no paragraph; give another --text")
        scores = _scores(treebanks, sample)
        _check_same_tokens(sample)
        speed = _speed(texts, options)
    absent = _absent()
    remark = f"Not installed, so not compared: {', '.join(absent)} (pip install {' '.join(absent)})"
    return Measured(
        [
            *([_score_table(treebanks, scores)] if treebanks else []),
            _speed_table(speed, len(sample)),
        ],
        _last_line(treebanks, scores, speed, absent),
        text=", ".join(map(str, options.text)) or "Python's documentation, as in the default run",
        remarks=[remark] if absent else [],
    )


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--treebank", nargs="+", default=[], metavar="NAME=FILE", help="treebanks in CoNLL-U")
    text = "files or folders, a blank line between paragraphs; default: the default run's text"
    add("--text", type=Path, nargs="+", default=[], help=text)
    add("--others-seconds", type=float, default=20.0, help="for each other library")
    add("--compared-paragraphs", type=int, default=50_000, help="for the others and for tokens")


def _treebanks(given: Sequence[str]) -> Treebanks:
    """Returns the paragraphs of each treebank.

    Raises:
        ValueError: one is not given as NAME=FILE, or its file is not as it should be.
    """
    found: Treebanks = {}
    for argument in given:
        name, is_named, path = argument.partition("=")
        if not is_named or not name or name in found:
            raise ValueError(f"--treebank {argument}: give NAME=FILE, each name once")
        found[name] = read_paragraphs(Path(path))
    return found


def _absent() -> list[str]:
    """Returns the packages of other splitters that are not installed."""
    absent = []
    for package in SPLITTERS:
        try:
            importlib.import_module(package)
        except ImportError:
            absent.append(package)
    return absent


def _check_same_tokens(sample: Sequence[str]) -> None:
    """Compares our tokens with those that spaCy's rules give, a text at a time.

    Raises:
        RuntimeError: they differ, after which our speed is no measure.
    """
    ours = EnglishTokenizer().tokenize(sample)
    for text, found, expected in zip(sample, ours, tokenized_by_spacy(sample), strict=True):
        if (found.words, found.spaces) != (expected.words, expected.spaces):
            raise RuntimeError(f"tokens differ from spaCy's in: {text[:200]}")


def _scores(treebanks: Treebanks, sample: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    """Returns F1 by splitter: of sentences a treebank and, where it has tokens, of tokens."""
    scores = {OURS: _our_scores(treebanks, _our_tokens)}
    if not treebanks:
        return scores
    for package, make in SPLITTERS.items():
        try:
            name, split = make(sample)
        except ImportError:
            continue
        if package == "spacy":
            scores[name] = _our_scores(treebanks, _spacy_tokens)
        else:
            by_treebank = (_sentence_f1(paragraphs, split) for paragraphs in treebanks.values())
            scores[name] = {"sentences": list(by_treebank)}
    return scores


def _our_tokens(texts: Sequence[str]) -> list[tuple[TokenizedText, list[tuple[int, int]]]]:
    """Returns our tokens of texts, and the ranges of them that are sentences."""
    tokenized = EnglishTokenizer().tokenize(texts)
    return [(tokens, sentence_ranges(tokens.words, tokens.spaces)) for tokens in tokenized]


def _spacy_tokens(texts: Sequence[str]) -> list[tuple[TokenizedText, list[tuple[int, int]]]]:
    """Returns those of spaCy's own rules and sentencizer."""
    return [
        (TokenizedText([token.text for token in doc], []), [(s.start, s.end) for s in doc.sents])
        for doc in sentencizer_pipeline().pipe(texts)
    ]


def _our_scores(treebanks: Treebanks, cut: Any) -> dict[str, list[float]]:
    """Returns F1 of sentences and tokens, a figure a treebank."""
    scores: dict[str, list[float]] = {"sentences": [], "tokens": []}
    for paragraphs in treebanks.values():
        sentences, tokens = Agreement(), Agreement()
        texts = [clean_text(paragraph.text)[0] for paragraph in paragraphs]
        for paragraph, (found, ranges) in zip(paragraphs, cut(texts), strict=True):
            tokens.add(paragraph, paragraph.tokens, found.words)
            joined = ("".join(found.words[start:end]) for start, end in ranges)
            sentences.add(paragraph, paragraph.sentences, joined)
        scores["sentences"].append(sentences.f1)
        scores["tokens"].append(tokens.f1)
    return scores


def _sentence_f1(paragraphs: Sequence[GoldParagraph], split: Splitter) -> float:
    sentences = Agreement()
    for paragraph in paragraphs:
        sentences.add(paragraph, paragraph.sentences, split(clean_text(paragraph.text)[0]))
    return sentences.f1


def _speed(texts: list[str], options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Returns what processes measured, one after the other: ours and each other library."""
    tell(f"splitting: {OURS}")
    found = {OURS: _apart({"paths": texts})}
    limits = {"most": options.compared_paragraphs, "seconds": options.others_seconds}
    absent = _absent()
    for package in (IN_MEMORY, *(one for one in SPLITTERS if one not in absent)):
        tell(f"splitting: {package}")
        found[package] = _apart({"paths": texts, "package": package, **limits})
    return found


def _apart(settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the figures of a process."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "settings.json"
        path.write_text(json.dumps(settings), encoding="utf-8")
        return measured_apart("-m", "benchmarks.splitting_process", str(path))


def _score_table(treebanks: Treebanks, scores: dict[str, dict[str, list[float]]]) -> Table:
    rows = []
    for name, found in scores.items():
        tokens = [f"{f1:.2f}" for f1 in found.get("tokens", [])] or [""] * len(treebanks)
        rows.append([name, *(f"{f1:.2f}" for f1 in found["sentences"]), *tokens])
    columns = ("splitter", *treebanks, *(f"{name}, tokens" for name in treebanks))
    return Table(
        "F1 of sentences and tokens",
        columns,
        rows,
        [
            "raw text: paragraphs of the treebank, white space as SpaceAfter=No says",
            "right: begins and ends at the same characters, white space left aside",
        ],
    )


def _speed_table(speed: dict[str, dict[str, Any]], compared: int) -> Table:
    ours = speed[OURS]
    rows = [
        [one.get("name", OURS), f"{one['sentences']:,}", f"{_rate(one):,.0f}"]
        for one in speed.values()
    ]
    return Table(
        "Speed",
        ("splitter", "sentences", "sentences/s"),
        rows,
        [
            "sentences a second of processor time, one thread",
            "ours: files to shards of tokens, what the tokenizer loads included; in memory and by "
            "the others: paragraphs to sentences alone, loaded before, until their time is up",
            f"ours took {ours['wall_seconds']:.1f} s on the clock and {ours['peak_mib']:,.0f} MiB "
            "at most",
            f"{compared:,} paragraphs have the same tokens by spaCy's rules, a text at a time",
        ],
    )


def _rate(one: dict[str, Any]) -> float:
    return float(one["sentences"] / max(1e-9, one["processor_seconds"]))


def _last_line(
    treebanks: Treebanks,
    scores: dict[str, dict[str, list[float]]],
    speed: dict[str, dict[str, Any]],
    absent: list[str],
) -> dict[str, Any]:
    """Returns all figures; None is what was not measured for want of a library."""
    others = [found["sentences"] for name, found in scores.items() if name != OURS]
    vs_spacy = _rate(speed[IN_MEMORY]) / _rate(speed["spacy"]) if "spacy" in speed else None

    def named(figures: Sequence[float]) -> dict[str, float]:
        return {name: round(f1, 2) for name, f1 in zip(treebanks, figures, strict=True)}

    return {
        "sentences_per_second": round(_rate(speed[OURS]), 1),
        "in_memory_sentences_per_second": round(_rate(speed[IN_MEMORY]), 1),
        "vs_spacy_sentencizer": None if vs_spacy is None else round(vs_spacy, 2),
        "sentence_f1": named(scores[OURS]["sentences"]),
        "token_f1": named(scores[OURS]["tokens"]),
        "best_other_f1": named([max(column) for column in zip(*others, strict=True)])
        if others
        else {},
        "sentences": speed[OURS]["sentences"],
        "peak_mib": round(speed[OURS]["peak_mib"], 1),
        "absent": absent,
    }


main = Benchmark("benchmarks.splitting", __doc__ or "", _add_options, _measure, QUICK)

if __name__ == "__main__":
    sys.exit(main())
