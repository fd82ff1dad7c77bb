"""How a model is passed on: the options, and the card of the exported folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from treeviews.models.config.training_presets import SIF_WORDS
from treeviews.models.model.card import (
    CARD_FILE,
    LICENCE_ROW,
    TEXT_ROW,
    UNKNOWN_LICENCE,
    CardFacts,
    card_without_maker,
    front_matter,
    licence_of,
    made_with,
    model_card,
)
from treeviews.models.model.model_description import (
    WORDS_FOLDER,
    ModelDescription,
    read_model_description,
)
from treeviews.models.report.evaluation_table import evaluation_table
from treeviews.pipeline.base.atomic_files import write_text_atomically
from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.base.settings import Natural, Settings, at_least

FORMATS = ("treeviews", "sentence-transformers", "model2vec")
PARSERS_FOLDER = "parsers"
"""Within a self-contained model's folder."""
README = "README.md"
"""What hubs show of a folder."""
_LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+://|#)[^)]*\)")
"""To a file beside the folder, which is not passed on with it."""


class ExportOptions(Settings):
    """How a model is passed on."""

    called: ClassVar[str] = "export option"

    format: str = "treeviews"
    """One of `FORMATS`."""
    self_contained: bool = False
    """Whether word vectors and parsers are put inside, even those that ship."""
    num_words: Annotated[int | None, at_least(1)] = None
    """Of a bag of words, the most frequent ones; None takes all."""
    components: Natural = 0
    """Of a bag, how many are removed."""
    vectors: Path | None = None
    """Where the word vectors lie, if they were moved."""
    dependency_parser: Path | None = None
    constituency_parser: Path | None = None
    licence: str = ""
    """Of the model; by default what its folder or its card says."""
    text_licence: str = ""
    """Of the text that it was trained on."""
    results: Path | None = None
    """Folder of results of its evaluation, whose scores its card is to have."""

    def _check_together(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(
                f"--format must be one of {', '.join(FORMATS)}, not {self.format!r}"
                f"{did_you_mean(self.format, known=FORMATS)}"
            )


def licence_to_pass_on(folder: Path, description: ModelDescription, options: ExportOptions) -> str:
    """Returns the licence that is asked for, or that the model's folder or its card says."""
    return options.licence or description.licence or licence_of(folder)


def write_baseline_card(out: Path, name: str, vectors: Path, options: ExportOptions) -> None:
    """Writes the card of word vectors that are passed on as they are, or weighted.

    Args:
        vectors: where they lie, with their own card or without.
    """
    facts = CardFacts(
        name=name,
        config=SIF_WORDS,
        text="none: the word vectors as they are",
        made=made_with(),
        licence=options.licence or licence_of(vectors),
        parts={"word vectors": licence_of(vectors)},
    )
    write_text_atomically(out / CARD_FILE, model_card(facts))


def write_card(folder: Path, out: Path, options: ExportOptions) -> None:
    """Writes the card of the folder: its maker's with what was added, else one of what is known."""
    description = read_model_description(folder)
    licence = licence_to_pass_on(folder, description, options)
    maker = folder / CARD_FILE
    if maker.is_file():
        card = _LINK.sub(r"\1", maker.read_text(encoding="utf-8", errors="replace")).rstrip() + "\n"
    else:
        made = description.made or made_with()
        card = card_without_maker(folder, description.config, made, licence, options.text_licence)
    card = _with_licences(card, licence, options.text_licence)
    _write(out, card, licence, options)


def write_ensemble_card(
    out: Path, name: str, members: Sequence[Path], options: ExportOptions
) -> None:
    """Writes the card of joined models, which points to those of its members.

    Args:
        name: of the whole.
        members: their folders within ``out``, with their cards.
    """
    rows = [
        f"| `{place.relative_to(out).as_posix()}` | {printable(licence_of(place))} |"
        for place in members
    ]
    licence = options.licence or UNKNOWN_LICENCE
    lines = [
        f"# {printable(name)}",
        "",
        "An ensemble of sentence encoders made with Treeviews: the vector of a sentence is those "
        "of its members side by side, in this order. What each is stands in its own card.",
        "",
        "| member | licence |",
        "| --- | --- |",
        *rows,
        "",
        "| what | licence |",
        "| --- | --- |",
        f"| {LICENCE_ROW} | {printable(licence)} |",
        "",
    ]
    _write(out, "\n".join(lines), licence, options)


def _write(out: Path, card: str, licence: str, options: ExportOptions) -> None:
    """Writes a card with the scores, if there are some, and what the folder holds."""
    if options.results is not None:
        card += f"\n{evaluation_table([options.results], by_subset=False)}\n"
    write_text_atomically(out / CARD_FILE, f"{card}\n{_this_folder(out, licence, options)}")


def _with_licences(card: str, licence: str, of_text: str) -> str:
    """Returns a card whose rows of licences say what is known now."""
    for row, known in ((LICENCE_ROW, licence), (TEXT_ROW, of_text)):
        if known:
            said = f"| {row} | {printable(known).replace('|', '/')} |"
            card = "\n".join(
                said if line.startswith(f"| {row} |") else line for line in card.split("\n")
            )
    return card


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
        if (place / CARD_FILE).is_file():
            lines.append(f"- `{place.relative_to(out)}` inside: licence {licence_of(place)}.")
        else:
            lines.append(f"- `{place.relative_to(out)}` inside.")
    return "\n".join(lines) + "\n"


def write_readme(out: Path, options: ExportOptions) -> None:
    """Writes the card once more, as hubs look for it."""
    card = (out / CARD_FILE).read_text(encoding="utf-8")
    licence = options.licence or licence_of(out)
    library = "sentence-transformers" if (out / "modules.json").is_file() else "treeviews"
    write_text_atomically(out / README, front_matter(licence, library=library) + card)
