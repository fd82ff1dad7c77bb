"""The process that the encoding benchmark measures: it loads an encoder and encodes sentences.

``python -m benchmarks.encode_process ENCODER SENTENCES.json COLD`` prints its figures as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from treeviews.models.encoding.load_encoder import load_encoder
from treeviews.pipeline.base.machine import peak_bytes
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.sentence_parser import LazyParser, Sentence
from treeviews.pipeline.trees.flat_trees import Parse

VS_PARSERS = "vs_parsers"
"""Name of the figure that compares an encoder with its parsers alone."""


def main() -> None:
    """Encodes one sentence, then so many as are to be cold, then the others."""
    called, path, cold = sys.argv[1:]
    first, *sentences = json.loads(Path(path).read_text(encoding="utf-8"))
    encoder = load_encoder(called)
    parsing = _timed_parsers()
    encoder.encode([first])
    times = [time.process_time()]  # the process began at 0
    parts = sentences[: int(cold)], sentences[int(cold) :]
    for part in parts:
        parsing.clear()
        encoder.encode(part)
        times.append(time.process_time())
    cold_rate, rate = (
        len(part) / max(1e-9, times[number + 1] - times[number])
        for number, part in enumerate(parts)
    )
    figures = {
        "sentences_per_second": round(rate, 1),
        "cold_sentences_per_second": round(cold_rate, 1),
        "first_call_seconds": round(times[0], 2),
        "peak_mib": round(peak_bytes() / (1 << 20), 1),
    }
    if parsing:
        figures[VS_PARSERS] = round(sum(parsing) / max(1e-9, times[-1] - times[-2]), 3)
    print(json.dumps(figures))


def _timed_parsers() -> list[float]:
    """Returns a list to which every call of a parser adds its processor time in seconds."""
    seconds: list[float] = []
    parse = LazyParser.parse

    def timed(self: LazyParser, sentences: Sequence[Sentence]) -> Sequence[Parse | Refusal]:
        start = time.process_time()
        parses = parse(self, sentences)
        seconds.append(time.process_time() - start)
        return parses

    LazyParser.parse = timed  # type: ignore[method-assign]
    return seconds


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(str(error))
