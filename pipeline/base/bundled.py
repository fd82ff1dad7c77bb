"""What ships with the code, found from wherever a program starts; how to install what does not."""

from __future__ import annotations

import re
import shlex
from importlib.metadata import requires
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data"
"""Folder of what ships: in a clone and in an installed package it is beside ``pipeline/``."""
BUNDLED_PARSERS = {
    "dependencies": DATA / "parsers" / "dependency",
    "constituents": DATA / "parsers" / "constituency",
}
"""Parse stage -> folder of its parser."""
BUNDLED_VECTORS = DATA / "vectors" / "english"
"""Folder of word vectors."""
BUNDLED_FORMS = DATA / "tokens" / "english.json"
"""What spaCy makes of the forms of ordinary text; see `pipeline.text.chunks`."""
PUBLISHED_FIGURES = DATA / "published"
"""Folder of the papers' figures, a CSV file a paper; see `models.report.table_columns`."""
_MODELS = DATA / "models"
BUNDLED_MODELS = {name: _MODELS / name for name in ("english", "english-trees")}
"""Name -> folder of a trained encoder."""
SHIPPED_VECTORS = (BUNDLED_VECTORS, BUNDLED_MODELS["english"] / "words")
"""Where word vectors of models may lie, beside where they lay in training."""


def shipped_parsers(stage: str) -> dict[str, Path]:
    """Returns name -> folder of the parsers of a stage that ship: ``dependency-large`` and such."""
    bundled = BUNDLED_PARSERS[stage]
    return {path.name: path for path in sorted(bundled.parent.glob(f"{bundled.name}*"))}


def parser_folder(given: str | Path) -> Path:
    """Returns the folder of a parser that is given by it, or by the name of one that ships.

    A parser's folder that stands where the program runs goes before one that ships.
    """
    if (Path(given) / "parser.json").is_file():
        return Path(given)
    found = [shipped_parsers(stage).get(str(given)) for stage in BUNDLED_PARSERS]
    return next(filter(None, found), Path(given))


def shown(path: Path) -> str:
    """Returns a bundled folder as help texts name it: ``data/parsers/dependency``."""
    return f"data/{path.relative_to(DATA).as_posix()}"


def how_to_install(extra: str) -> str:
    """Returns the words that tell how to install what an extra needs.

    They hold for a wheel and for a clone: ``pip install ray`` (in a clone: …); the index has no
    package of ours.
    """
    declared = [text for text in requires("treeviews") or () if f"extra == '{extra}'" in text]
    packages = [re.sub(r",?>=[\d.]+", "", text.partition(";")[0]) for text in declared]
    return (
        f"pip install {shlex.join(packages)} (in a clone of Treeviews: "
        f"pip install -c constraints.txt -e '.[{extra}]')"
    )
