"""The card of a model: what it is, from what it was made, under which licences, how to cite it.

Written from what is known, by a training and by an export. What nobody said is named as unknown.
"""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.views import needed_stages, view_called
from treeviews.pipeline.base.foreign_text import printable

CARD_FILE = "card.md"
LICENCE_ROW, TEXT_ROW = "licence of this model", "the text of its training"
UNKNOWN_LICENCE = "unknown: the maker did not say"
_MAX_CARD_BYTES = 1 << 20
_ROW = re.compile(r"^\|\s*licen[cs]e[^|]*\|\s*([^|]+?)\s*\|", re.IGNORECASE | re.MULTILINE)
_SENTENCE = re.compile(r"(?:is|are) released under ([^,;]+?)(?:,|;|\.(?:\s|$))")

CITATION = """@software{treeviews,
  title = {Treeviews: sentence representations from syntax, from raw text to scores},
  author = {{The Treeviews maintainers}},
  url = {https://github.com/treeviews/treeviews}
}"""
_PARSED_LIMITS = """- What the parsers get wrong, the trees have wrong.
- Sentences of more than 510 tokens are refused, or zeros if you ask for that.
"""


@cache
def current_commit() -> str | None:
    """Returns the commit of the working tree this code runs from, or None outside of git.

    A tree with changes that are in no commit has ``-dirty`` behind it. A repository that the code
    only happens to lie in, such as one around a virtual environment, does not count.
    """
    here = Path(__file__).resolve()
    git = ["git", "-C", str(here.parent)]
    try:
        is_ours = [*git, "ls-files", "--error-unmatch", here.name]
        subprocess.run(is_ours, capture_output=True, check=True)
        command = [*git, "describe", "--always", "--dirty", "--abbrev=12"]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip() or None


def made_with() -> dict[str, str]:
    """Returns what a model is made with: releases, and the commit where there is one."""
    try:
        release = version("treeviews")
    except PackageNotFoundError:  # a copy of the code that nobody installed
        release = "unknown"
    commit = current_commit()
    return {
        "treeviews": release,
        **({"commit": commit} if commit else {}),
        "python": platform.python_version(),
        "torch": version("torch"),
    }


def licence_of(folder: Path) -> str:
    """Returns the licence that the card in a folder names; a remark where it names none."""
    card = folder / CARD_FILE
    if not card.is_file() or card.stat().st_size > _MAX_CARD_BYTES:
        return UNKNOWN_LICENCE
    text = card.read_text(encoding="utf-8", errors="replace")
    found = _ROW.search(text) or _SENTENCE.search(" ".join(text.split()))
    return printable(found[1]) if found else UNKNOWN_LICENCE


def model_card(
    name: str,
    config: TrainingConfig,
    made: Mapping[str, str],
    *,
    text: str = "unknown: the folder has no card of its maker",
    licence: str = "",
    text_licence: str = "",
    parts: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Returns a card as Markdown.

    Args:
        made: see `made_with`.
        text: what was read in training, in words.
        licence: of the model; empty if nobody said.
        text_licence: likewise of the text.
        parts: word vectors and parsers that it stands on -> their licence.
    """
    cell = config.seq_cell.upper()
    views = [
        f"- {view_name}: {view.about.format(seq_cell=cell)}"
        for view_name in dict.fromkeys(config.test_views)
        if (view := view_called(view_name)) is not None
    ]
    read = needed_stages(config.views)
    parses = f"Sentences are parsed first ({', '.join(read)})." if read else "It needs no parser."
    objective = f"{config.objective}, {config.epochs} epochs, batches of {config.batch_size:,}"
    rows = {
        "Text": text,
        "Training": f"{objective}, seed {config.seed}",
        "Held out": f"{config.held_out_fraction:.0%} of the text",
        "Made with": ", ".join(f"{what} {release}" for what, release in made.items()),
    }
    licences = {
        LICENCE_ROW: licence or UNKNOWN_LICENCE,
        TEXT_ROW: text_licence or UNKNOWN_LICENCE,
        **parts,
    }
    return f"""# {name}

A sentence encoder made with Treeviews. The vector of a sentence has these views side by side:

{chr(10).join(views)}

{parses}

    import treeviews
    vectors = treeviews.load("{name}").encode(["The cat sat.", "It slept."])

## How it was made

{_table("", "", rows)}

## Licences

{_table("what", "licence", licences)}

## Limits

- English alone: words, rules of tokens and parsers are English.
- The attitudes of the text are in the vectors.
- A sentence of words that are all unknown tells next to nothing.
{_PARSED_LIMITS if read else ""}- Empty sentences are refused, or zeros if you ask for that.

## How to cite

```
{CITATION}
```
"""


def front_matter(licence: str, *, library: str) -> str:
    """Returns what a hub reads of a card, as YAML before the card itself.

    Args:
        licence: in words; one that is none of the hub's is "other" there.
        library: what opens the folder.
    """
    known = re.sub(r"[^a-z0-9.]+", "-", licence.lower()).strip("-")
    is_known = re.fullmatch(r"apache-2\.0|mit|cc0-1\.0|cc-by(?:-[ns][cad])*-\d\.0", known)
    return f"""---
license: {known if is_known else "other"}
library_name: {library}
language: en
pipeline_tag: sentence-similarity
tags: [sentence-embeddings, treeviews]
---
"""


def _table(first: str, second: str, rows: Mapping[str, str]) -> str:
    lines = [(first, second), ("---", "---"), *rows.items()]
    return "\n".join(f"| {name} | {printable(of).replace('|', '/')} |" for name, of in lines)
