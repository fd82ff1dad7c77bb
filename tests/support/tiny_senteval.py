"""A SentEval folder of a few dozen made-up sentences, one dataset of every protocol."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.support.parsed_corpora import NOUNS, PLACES, VERBS
from tests.support.senteval_files import write_files
from treeviews.models.encoding.encoder import Encoder
from treeviews.models.encoding.own_encoder import OwnFunction

TASKS = ("MR", "TREC", "SST2", "SICK-R", "SICK-E", "SICK14", "STS13")
"""The tasks that `write_tiny_senteval` gives files to."""
DATASETS = ("MR", "TREC", "SST2", "SICK", "STS13")


def sentence(number: int, *, size: int = len(NOUNS)) -> str:
    """Returns a sentence whose subject is the number's noun among the first ``size``."""
    return f"the {NOUNS[number % size]} {VERBS[number % 5]} the {NOUNS[number % 7]} " + " ".join(
        PLACES[: number % 3]
    )


def write_tiny_senteval(folder: Path, *, without: Collection[str] = ()) -> Path:
    """Writes the files of all datasets but some; a sentence's class is that of its subject."""
    makers = {"MR": _mr, "TREC": _trec, "SST2": _sst2, "SICK": _sick, "STS13": _sts13}
    for dataset, files in makers.items():
        if dataset not in without:
            write_files(folder, dataset, dict(files()))
    return folder


def _mr() -> dict[str, str]:
    lines = [sentence(number) for number in range(80)]
    positive = [line for number, line in enumerate(lines) if number % 8 < 4]
    negative = [line for number, line in enumerate(lines) if number % 8 >= 4]
    return {"positive": "\n".join(positive) + "\n", "negative": "\n".join(negative) + "\n"}


def _trec() -> dict[str, str]:
    classes = ("NUM:date", "HUM:ind", "LOC:city", "ENTY:animal")
    lines = [f"{classes[number % 4]} {sentence(number)}" for number in range(80)]
    return {"train": "\n".join(lines[:60]) + "\n", "test": "\n".join(lines[60:]) + "\n"}


def _sst2() -> dict[str, str]:
    lines = [f"{sentence(number)}\t{int(number % 8 < 4)}" for number in range(90)]
    parts = {"train": lines[:50], "dev": lines[50:70], "test": lines[70:]}
    return {split: "\n".join(part) + "\n" for split, part in parts.items()}


def _sick() -> dict[str, str]:
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    judgments = ("NEUTRAL", "ENTAILMENT", "CONTRADICTION")

    def part(numbers: range) -> str:
        pairs = ((number, number + number % 3) for number in numbers)
        return header + "".join(
            f"{a}\t{sentence(a)}\t{sentence(b)}\t{5 - 2 * (b - a)}\t{judgments[b - a]}\n"
            for a, b in pairs
        )

    return {"train": part(range(60)), "dev": part(range(60, 80)), "test": part(range(80, 110))}


def _sts13() -> dict[str, str]:
    files = {}
    for place, subset in enumerate(("FNWN", "headlines", "OnWN")):
        pairs = [(n, n + n % (3 + place)) for n in range(12)]
        files[f"input.{subset}"] = "".join(f"{sentence(a)}\t{sentence(b)}\n" for a, b in pairs)
        files[f"gs.{subset}"] = "".join(f"{5 - (b - a)}\n" for a, b in pairs)
    return files


class CountingEncoder(Encoder):
    """Counts letters that words begin and end with, the subject's more; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        super().__init__(OwnFunction(self._counts, "counting"), "counting")

    def _counts(self, sentences: Sequence[str]) -> npt.NDArray[np.float32]:
        self.asked.append(tuple(sentences))
        counts = np.zeros((len(sentences), 26), dtype=np.float32)
        for row, text in enumerate(sentences):
            for place, word in enumerate(text.lower().split()):
                weight = 3.0 if place == 1 else 1.0
                counts[row, (ord(word[0]) - ord("a")) % 26] += weight
                counts[row, (3 * ord(word[-1]) + len(word)) % 26] += 0.5 * weight
        return counts
