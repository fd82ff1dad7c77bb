"""The site, by Sphinx: README.md, docs/ with its notebooks, the cards of what ships, the reference.

    sphinx-build -W --keep-going -c docs/site . build/site

Documents stay where they are and link to one another as files of the repository, so that the same
links are right on a forge and on the site. Nothing that a page shows comes from another host.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY), str(Path(__file__).parent)]

from column_tables import column_tables  # noqa: E402
from notebook_pages import as_markdown  # noqa: E402
from task_tables import tables  # noqa: E402

FORGE = "https://github.com/treeviews/treeviews/tree/main"

project = "Treeviews"
author = copyright = "The Treeviews maintainers"
release = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]["version"]
html_title = f"Treeviews {release}"

root_doc = "README"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
include_patterns = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/*.md",
    "docs/*/*.md",
    "docs/tutorials/*.ipynb",
    "data/*/*/card.md",
    "data/text/card.md",
]
exclude_patterns = ["docs/site"]

myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
highlight_language = "none"  # of blocks that do not say theirs
default_role = "literal"  # docstrings write names in single backticks
napoleon_use_rtype = False

html_theme = "furo"
html_favicon = "icon.svg"
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_dark_style = "github-dark"

SECTIONS = {
    "Start": [
        *("docs/start", "docs/installation", "docs/command"),
        *("docs/tutorials/README", "docs/tutorials/from-text-to-a-table"),
        "docs/tutorials/an-encoder-in-a-search",
    ],
    "Text and trees": [
        *("docs/running", "docs/runs", "docs/cleaning", "docs/parse-text", "docs/parsing"),
        "docs/inspect",
        "docs/cluster",
        "data/text/card",
    ],
    "Encoders": [
        *("docs/encoding", "docs/training", "docs/word-vectors"),
        *("docs/structured-views", "docs/frameworks", "docs/models"),
        "data/*/*/card",
    ],
    "Evaluation": [
        *("docs/evaluation", "docs/report", "docs/evaluation-data", "docs/mteb"),
        "docs/experiments",
    ],
    "Results": ["docs/results/README"],
    "Reference": [
        *("docs/reference/treeviews", "docs/reference/encoders", "docs/reference/evaluation"),
        *("docs/reference/data-format", "docs/reference/tasks"),
    ],
    "Project": [
        *("ARCHITECTURE", "docs/decisions", "CONTRIBUTING", "CHANGELOG"),
    ],
}
"""The navigation. A page that stands in no section is an error of the build."""
INDEXES = ("docs/results/README",)
"""Pages under which the navigation has the other pages of their folder."""


def navigation() -> str:
    """Returns the sections as Sphinx's directives, one hidden tree of contents a section."""
    return "\n".join(
        contents(entries, f":caption: {caption}\n") for caption, entries in SECTIONS.items()
    )


def contents(entries: Sequence[str], options: str = "") -> str:
    """Returns a hidden tree of contents; an entry may be a pattern."""
    return f"```{{toctree}}\n:hidden:\n:glob:\n{options}\n" + "\n".join(entries) + "\n```\n"


COLUMNS_PLACE = "<!-- tables of columns -->"

FOLDER_LINK = re.compile(r"\]\((?P<target>[^):#\s]+)\)")


def with_folders(text: str, document: str) -> str:
    """Returns a document whose links to folders lead to the folder's page, or to the forge."""

    def led(match: re.Match[str]) -> str:
        found = posixpath.normpath(posixpath.join(posixpath.dirname(document), match["target"]))
        if not (REPOSITORY / found).is_dir():
            return match[0]
        if (REPOSITORY / found / "README.md").exists():
            return f"]({match['target'].rstrip('/')}/README.md)"
        return f"]({FORGE}/{found})"

    return FOLDER_LINK.sub(led, text)


def complete(app: Sphinx, document: str, content: list[str]) -> None:
    """Makes pages of notebooks, and adds what the site alone has: navigation, generated tables."""
    if app.env.doc2path(document, base=False).suffix == ".ipynb":
        content[0] = as_markdown(content[0], f"{FORGE}/{document}.ipynb")
    content[0] = with_folders(content[0], document)
    if document == root_doc:
        content[0] += "\n" + navigation()
    if document in INDEXES:
        content[0] += "\n" + contents(["[!R]*"])
    if document == "docs/reference/data-format":
        content[0] = content[0].replace(COLUMNS_PLACE, column_tables())
    if document == "docs/reference/tasks":
        content[0] += "\n" + tables()


def begin_at_the_readme(app: Sphinx, error: Exception | None) -> None:
    """Lets the site's root show the README's page."""
    if error is None and app.builder.format == "html":
        shutil.copyfile(Path(app.outdir) / "README.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", complete)
    app.connect("build-finished", begin_at_the_readme)
