"""How a model is passed on: the options, and the card of the exported folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from treeviews.models.model.card import (
    CARD_FILE,
    LICENCE_ROW,
    TEXT_ROW,
    UNKNOWN_LICENCE,
    front_matter,
    licence_of,
    made_with,
    model_card,
)
from treeviews.models.model.model_description import WORDS_FOLDER, read_model_description
from treeviews.models.report.evaluation_table import evaluation_table
from treeviews.pipeline.base.atomic_files import write_text_atomically
from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.base.settings import Natural, Settings, at_least

PARSERS_FOLDER = "parsers"
"""Within a self-contained model's folder."""
README = "README.md"
"""What hubs show of a folder."""
_LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+://|#)[^)]*\)")
"""To a file beside the folder, which is not passed on with it."""


class ExportOptions(Settings):
    """How a model is passed on."""

    called: ClassVar[str] = "export option"

    format: Literal["treeviews", "sentence-transformers", "model2vec"] = "treeviews"
    """Format of the folder."""
    self_contained: bool = False
    """Include word vectors and parsers, even bundled ones."""
    num_words: Annotated[int | None, at_least(1)] = None
    """Number of most frequent words to export from a bag of words; default: all."""
    components: Natural = 0
    """Number of principal components to remove from a bag of words."""
    vectors: Path | None = None
    """Word vectors of the model, if they were moved."""
    dependency_parser: Path | None = None
    """Parser for the view DEP, if it was moved."""
    constituency_parser: Path | None = None
    """Parser for the view CONST, if it was moved."""
    licence: str = ""
    """Licence of the model; default: that in its folder or card."""
    text_licence: str = ""
    """Licence of the text that the model was trained on."""
    results: Path | None = None
    """Folder of evaluation results, whose scores go into the card."""


def write_card(folder: Path, out: Path, options: ExportOptions) -> None:
    """Writes the card of the folder: its maker's, else one of what is known, and what was added.

    Rows of licences say what is known now; scores are added if there are some.
    """
    description = read_model_description(folder)
    licence = options.licence or description.licence or licence_of(folder)
    maker = folder / CARD_FILE
    if maker.is_file():
        card = _LINK.sub(r"\1", maker.read_text(encoding="utf-8", errors="replace")).rstrip() + "\n"
    else:
        made = description.made or made_with()
        name, of_text = folder.resolve().name, options.text_licence
        card = model_card(name, description.config, made, licence=licence, text_licence=of_text)
    for row, known in ((LICENCE_ROW, licence), (TEXT_ROW, options.text_licence)):
        if known:
            said = f"| {row} | {printable(known).replace('|', '/')} |"
            lines = (said if x.startswith(f"| {row} |") else x for x in card.split("\n"))
            card = "\n".join(lines)
    _write(out, card, licence, options)


def write_ensemble_card(
    out: Path, name: str, members: Sequence[Path], options: ExportOptions
) -> None:
    """Writes the card of joined models, which points to those of its members.

    Args:
        name: of the whole.
        members: their folders within ``out``, with their cards.
    """
    licence = options.licence or UNKNOWN_LICENCE
    rows = {f"`{place.relative_to(out).as_posix()}`": licence_of(place) for place in members}
    lines = [f"| {name} | {printable(of)} |" for name, of in {**rows, LICENCE_ROW: licence}.items()]
    card = (
        f"# {printable(name)}\n\nAn ensemble of sentence encoders made with Treeviews: the vector "
        "of a sentence is those of its members side by side, in this order. What each is stands in "
        "its own card.\n\n| what | licence |\n| --- | --- |\n"
    )
    _write(out, card + "".join(f"{line}\n" for line in lines), licence, options)


def _write(out: Path, card: str, licence: str, options: ExportOptions) -> None:
    """Writes a card with the scores, if there are some, and what the folder holds."""
    if options.results is not None:
        card += f"\n{evaluation_table([options.results], by_subset=False)}\n"
    write_text_atomically(out / CARD_FILE, f"{card}\n{_this_folder(out, licence, options)}")


def _this_folder(out: Path, licence: str, options: ExportOptions) -> str:
    made = ", ".join(f"{name} {number}" for name, number in made_with().items())
    lines = [
        "## This folder",
        "",
        f"- Exported in the format {options.format} with {made}.",
        f"- Licence: {licence}.",
        *([f"- Licence of the text: {options.text_licence}."] if options.text_licence else []),
    ]
    for place in sorted([*out.glob(f"{PARSERS_FOLDER}/*"), *out.glob(WORDS_FOLDER)]):
        licensed = f": licence {licence_of(place)}" if (place / CARD_FILE).is_file() else ""
        lines.append(f"- `{place.relative_to(out)}` inside{licensed}.")
    return "\n".join(lines) + "\n"


def write_readme(out: Path, options: ExportOptions) -> None:
    """Writes the card once more, as hubs look for it."""
    card = (out / CARD_FILE).read_text(encoding="utf-8")
    licence = options.licence or licence_of(out)
    library = "sentence-transformers" if (out / "modules.json").is_file() else "treeviews"
    write_text_atomically(out / README, front_matter(licence, library=library) + card)
