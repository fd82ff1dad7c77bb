"""The word vectors that a model was trained on, wherever they lie now."""

from __future__ import annotations

from pathlib import Path

from models.words.vector_files import load_word_vectors
from models.words.word_vectors import WordVectors
from pipeline.bundled import BUNDLED_VECTORS


def load_recorded_vectors(checksum: str, recorded: Path, given: Path | None = None) -> WordVectors:
    """Returns the word vectors with this checksum.

    Looked for where the user says, else where they lay in training, else those that ship.

    Args:
        checksum: see `WordVectors.checksum`.
        recorded: where they lay in training.
        given: where the user says they lie.

    Raises:
        ValueError: they are not there; says what each place holds, and the argument that helps.
    """
    faults = []
    for path in (recorded, BUNDLED_VECTORS) if given is None else (given,):
        try:
            vectors = load_word_vectors(path)
        except (OSError, ValueError) as error:
            faults.append(str(error))
            continue
        if vectors.checksum == checksum:
            return vectors
        faults.append(f"{path}: other word vectors (checksum {vectors.checksum[:12]}…)")
    raise ValueError(
        f"the word vectors of the model (checksum {checksum[:12]}…) were not found: "
        f"{'; '.join(faults)}; give vectors=PATH of those"
    )
