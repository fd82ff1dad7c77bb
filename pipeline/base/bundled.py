"""What ships with the code, found from wherever a program starts."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUNDLED_PARSERS = {
    "dependencies": REPOSITORY / "data" / "parsers" / "dependency",
    "constituents": REPOSITORY / "data" / "parsers" / "constituency",
}
"""Parse stage -> folder of its parser."""
BUNDLED_VECTORS = REPOSITORY / "data" / "vectors" / "english"
"""Folder of word vectors."""
BUNDLED_FORMS = REPOSITORY / "data" / "tokens" / "english.json"
"""What spaCy makes of the forms of ordinary text; see `pipeline.text.forms`."""
_MODELS = REPOSITORY / "data" / "models"
BUNDLED_MODELS = {name: _MODELS / name for name in ("english", "english-trees")}
"""Name -> folder of a trained encoder."""
SHIPPED_VECTORS = (BUNDLED_VECTORS, BUNDLED_MODELS["english"] / "words")
"""Where word vectors of models may lie, beside where they lay in training."""


def shown(path: Path) -> str:
    """Returns a bundled folder as help texts name it: ``data/parsers/dependency``."""
    return path.relative_to(REPOSITORY).as_posix()
