"""Small English texts made by a fixed rule, for tests that need a corpus."""

from __future__ import annotations

import random
from pathlib import Path

SUBJECTS = ["The teacher", "A young doctor", "My neighbours", "The two sailors", "The old dog"]
VERBS = ["found", "carried", "sees", "watched", "repaired", "forgets", "wanted"]
OBJECTS = ["the red boat", "a letter", "several books", "the broken gate", "three apples"]
TAILS = ["", " in the morning", " before the rain came", " because the road was closed"]


def story(seed: int, num_sentences: int) -> str:
    """A text of one paragraph in which every sentence has a subject, a verb and an object."""
    choice = random.Random(seed).choice
    sentences = [
        f"{choice(SUBJECTS)} {choice(VERBS)} {choice(OBJECTS)}{choice(TAILS)}."
        for _ in range(num_sentences)
    ]
    return " ".join(sentences) + "\n"


def write_stories(folder: Path, *, num_documents: int, num_sentences: int) -> Path:
    """Writes one file a document and returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(num_documents):
        path = folder / f"story-{number:03d}.txt"
        path.write_text(story(number, num_sentences), encoding="utf-8")
    return folder
