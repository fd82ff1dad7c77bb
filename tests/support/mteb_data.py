"""Made-up data of one MTEB task of each kind, and an encoder that tells their classes apart."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = list[dict[str, Any]]
Floats = npt.NDArray[np.float32]

CLASSES = 3
WORDS = (
    ["rain", "snow", "cloud", "wind", "storm", "frost", "sun", "hail"],
    ["bank", "loan", "money", "coin", "debt", "tax", "rent", "fee"],
    ["song", "drum", "choir", "flute", "tune", "bell", "horn", "lute"],
)
"""Of each class, and some that all have."""
EVERYWHERE = ["the", "of", "and", "a", "is"]
WIDTH = 24

STS, PAIRS, MANY_STS = "STSBenchmark", "SprintDuplicateQuestions", "STS17"
CLASSIFICATION, CLUSTERING, RERANKING, RETRIEVAL = (
    "Banking77Classification",
    "TwentyNewsgroupsClustering",
    "AskUbuntuDupQuestions",
    "SciFact",
)
TASKS = (STS, MANY_STS, PAIRS, CLASSIFICATION, CLUSTERING, RERANKING, RETRIEVAL)


class WordSums:
    """Sums a vector a word, drawn by the word; gives no view, so nothing of it is kept."""

    def encode(self, sentences: Sequence[str]) -> Floats:
        """Returns float32 [n, WIDTH]."""
        return np.array([self._sum(text) for text in sentences], dtype=np.float32)

    def _sum(self, text: str) -> Floats:
        rows = [self.vector(word) for word in text.split()]
        return np.sum(rows, axis=0, dtype=np.float32) if rows else np.zeros(WIDTH, np.float32)

    @staticmethod
    def vector(word: str) -> Floats:
        """Returns the vector of a word."""
        generator = np.random.default_rng(zlib.crc32(word.encode()))
        return generator.standard_normal(WIDTH).astype(np.float32)


def text(label: int, drawn: random.Random) -> str:
    """Returns a text of a class, with words of all."""
    return " ".join(drawn.choices(WORDS[label], k=3) + drawn.choices(EVERYWHERE, k=3))


def graded(size: int, seed: int) -> Rows:
    """Returns graded pairs; those of one class are the more alike."""
    drawn, rows = random.Random(seed), []
    for _ in range(size):
        a, b = drawn.randrange(CLASSES), drawn.randrange(CLASSES)
        grade = 3.0 * (a == b) + 2.0 * drawn.random()
        rows.append({"sentence1": text(a, drawn), "sentence2": text(b, drawn), "score": grade})
    return rows


def labelled(size: int, seed: int) -> Rows:
    """Returns texts with their class."""
    drawn = random.Random(seed)
    return [{"text": text(n % CLASSES, drawn), "label": n % CLASSES} for n in range(size)]


def duplicates(size: int, seed: int) -> Rows:
    """Returns pairs of texts, of which those of one class are duplicates."""
    rows = graded(size, seed)
    return [
        {"sent1": r["sentence1"], "sent2": r["sentence2"], "labels": int(r["score"] > 2.5)}
        for r in rows
    ]


def sets(number: int, seed: int) -> Rows:
    """Returns sets of texts to be clustered."""
    drawn, labels = random.Random(seed), [n % CLASSES for n in range(24)]
    return [
        {"sentences": [text(one, drawn) for one in labels], "labels": labels} for _ in range(number)
    ]


def rerankings(size: int, seed: int) -> Rows:
    """Returns queries, each with texts of its class and others; the last one has no positive."""
    drawn, rows = random.Random(seed), []
    for n in range(size):
        own, other = n % CLASSES, (n + 1) % CLASSES
        positive = [text(own, drawn) for _ in range(2)] if n < size - 1 else []
        negative = [text(drawn.choice([own, other]), drawn) for _ in range(5)]
        rows.append({"query": text(own, drawn), "positive": positive, "negative": negative})
    return rows


def corpus(seed: int) -> tuple[Rows, Rows, Rows]:
    """Returns documents, queries and judgements."""
    drawn = random.Random(seed)
    documents = [{"_id": f"d{n}", "title": "", "text": text(n % CLASSES, drawn)} for n in range(40)]
    queries = [{"_id": f"q{n}", "text": text(n % CLASSES, drawn)} for n in range(10)]
    judged = [
        {"query-id": f"q{q}", "corpus-id": f"d{d}", "score": 1}
        for q in range(10)
        for d in range(40)
        if d % CLASSES == q % CLASSES and drawn.random() < 0.5
    ]
    return documents, queries, judged


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes one JSON object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_mteb_folder(folder: Path) -> Path:
    """Writes the data of all tasks in the simpler layout."""
    write_rows(folder / STS / "test.jsonl", graded(40, 0))
    for place, subset in enumerate(("en-en", "es-en")):
        write_rows(folder / MANY_STS / subset / "test.jsonl", graded(30, 1 + place))
    write_rows(folder / PAIRS / "test.jsonl", duplicates(50, 3))
    write_rows(folder / CLASSIFICATION / "train.jsonl", labelled(60, 4))
    write_rows(folder / CLASSIFICATION / "test.jsonl", labelled(45, 5))
    write_rows(folder / CLUSTERING / "test.jsonl", sets(4, 6))
    write_rows(folder / RERANKING / "test.jsonl", rerankings(12, 7))
    documents, queries, judged = corpus(8)
    write_rows(folder / RETRIEVAL / "corpus.jsonl", documents)
    write_rows(folder / RETRIEVAL / "queries.jsonl", queries)
    lines = ["query-id\tcorpus-id\tscore"]
    lines += [f"{row['query-id']}\t{row['corpus-id']}\t{row['score']}" for row in judged]
    (folder / RETRIEVAL / "qrels").mkdir()
    (folder / RETRIEVAL / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    return folder
