"""A notebook as the Markdown of a page: its text, its code, and what each cell prints."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_FENCE = re.compile(r"^ *(`{3,})", re.MULTILINE)


def as_markdown(notebook: str, address: str) -> str:
    """Returns a notebook's page.

    Args:
        notebook: content of the file, whose outputs are text.
        address: where readers find the file itself.
    """
    cells = json.loads(notebook)["cells"]
    head, *rest = (part for cell in cells for part in _parts(cell))
    title, _, begins = head.partition("\n")
    source = f"This page is [a notebook]({address}) with what its cells print."
    return "\n\n".join([title, source, begins.strip(), *rest]) + "\n"


def _parts(cell: Mapping[str, Any]) -> list[str]:
    """Returns a cell's Markdown: its text, or its code and then what it prints."""
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return [source]
    printed = ["".join(output["text"]) for output in cell["outputs"]]
    return [_block("python", source), *(_block("text", text) for text in printed)]


def _block(language: str, text: str) -> str:
    """Returns a fenced block, whose fence is longer than any in the text."""
    fence = "`" * max([3, *(len(found) + 1 for found in _FENCE.findall(text))])
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
