"""The processes that the splitting benchmark measures: one splits a text, ours or another's way.

``python -m benchmarks.splitting_process SETTINGS.json`` prints its figures as JSON. Nothing was
split in the process before.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

from benchmarks.references.splitters import SPLITTERS
from treeviews.pipeline.base.machine import peak_bytes
from treeviews.pipeline.text.boundaries import sentence_ranges
from treeviews.pipeline.text.documents import Paragraph
from treeviews.pipeline.text.split_corpus import CorpusSplit
from treeviews.pipeline.text.split_parts import ITEMS_AT_ONCE, SplitJob, execute
from treeviews.pipeline.text.text_sources import PythonDocs, TextFiles
from treeviews.pipeline.text.tokenization import (
    EnglishTokenizer,
    SentenceConfig,
    clean_text,
    english_rules,
)

IN_MEMORY = "in memory"
"""Names our own functions where another library could be."""


def write_default_text(folder: Path) -> None:
    """Writes the default run's text, a file a document, so that it is read as others are."""
    for number, document in enumerate(PythonDocs().documents()):
        paragraphs = (item.text for item in document.paragraphs if isinstance(item, Paragraph))
        text = "\n\n".join(paragraphs)
        if text:
            (folder / f"{number:05}.txt").write_text(text + "\n", encoding="utf-8")


def paragraphs_of(paths: list[str], most: int) -> list[str]:
    """Returns the first clean paragraphs of a text."""
    found: list[str] = []
    for document in chain.from_iterable(s.documents() for s in TextFiles(paths).streams()):
        for item in document.paragraphs:
            if isinstance(item, Paragraph) and (text := clean_text(item.text)[0]):
                found.append(text)
            if len(found) == most:
                return found
    return found


def split_text(paths: list[str]) -> dict[str, float]:
    """Splits a text into shards that are thrown away.

    What the tokenizer loads counts, what Python imports before does not.
    """
    started, spent = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as scratch:
        corpus = CorpusSplit(TextFiles(paths), SentenceConfig(), Path(scratch))
        corpus.begin()
        while runs := corpus.runs():
            for number, count in runs:
                job = SplitJob(
                    plan=corpus.plan_path, output=Path(scratch), number=number, count=count
                )
                execute(job, lambda *_: None)
        manifest = corpus.finish()
    return {
        "sentences": manifest.rows,
        "processor_seconds": time.process_time() - spent,
        "wall_seconds": time.perf_counter() - started,
        "peak_mib": peak_bytes() / (1 << 20),
    }


def split_by_other(
    paths: list[str], package: str, most: int, seconds: float
) -> dict[str, float | str]:
    """Splits a text's first paragraphs until some seconds are spent.

    What is loaded and learned is left out of the time.

    Args:
        package: as `SPLITTERS` has it, or `IN_MEMORY`.
    """
    texts = paragraphs_of(paths, most)
    name, split = _ours() if package == IN_MEMORY else _other(package, texts)
    started = time.process_time()
    sentences = 0
    for first in range(0, len(texts), ITEMS_AT_ONCE):
        sentences += split(texts[first : first + ITEMS_AT_ONCE])
        if time.process_time() - started > seconds:
            break
    spent = time.process_time() - started
    return {"name": name, "sentences": sentences, "processor_seconds": spent}


def _ours() -> tuple[str, Callable[[Sequence[str]], int]]:
    """Returns what tokenizes texts and counts their sentences; spaCy is loaded if they need it."""
    english_rules()
    tokenizer = EnglishTokenizer()

    def split(texts: Sequence[str]) -> int:
        tokenized = tokenizer.tokenize(texts)
        return sum(len(sentence_ranges(tokens.words, tokens.spaces)) for tokens in tokenized)

    return "Treeviews, in memory", split


def _other(package: str, texts: Sequence[str]) -> tuple[str, Callable[[Sequence[str]], int]]:
    """Returns what counts the sentences that another library finds in texts."""
    name, split_one = SPLITTERS[package](texts)
    return name, lambda some: sum(len(split_one(text)) for text in some)


def main() -> None:
    """Does what its settings say."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    do = split_by_other if "package" in settings else split_text
    print(json.dumps(do(**settings)))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(str(error))
