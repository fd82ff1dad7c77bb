"""The site builds without a warning, and nothing that its pages show comes from another host."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY

ARE_THERE = all(importlib.util.find_spec(name) for name in ("sphinx", "myst_parser", "furo"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not ARE_THERE, reason="the extra docs is not installed"),
]
FETCHED = re.compile(
    r"<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)=\"((?:https?:)?//[^\"]+)"
)
FETCHED_BY_STYLE = re.compile(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    result = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"),
            *("-d", str(folder / "doctrees"), "-c", "docs/site", ".", str(folder / "html")),
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-5000:]
    return folder / "html"


def test_the_site_begins_with_the_readme(site: Path) -> None:
    assert (site / "index.html").read_bytes() == (site / "README.html").read_bytes()


def test_every_document_is_a_page(site: Path) -> None:
    documents = [
        *(path for kind in ("*.md", "*.ipynb") for path in (REPOSITORY / "docs").rglob(kind)),
        *REPOSITORY.glob("data/*/*/card.md"),
    ]
    pages = [site / path.relative_to(REPOSITORY).with_suffix(".html") for path in documents]
    assert [page for page in pages if not page.exists()] == []


def test_no_page_fetches_from_another_host(site: Path) -> None:
    fetched = {
        f"{path.relative_to(site)}: {address}"
        for pattern, files in ((FETCHED, "*.html"), (FETCHED_BY_STYLE, "*.css"))
        for path in site.rglob(files)
        for address in pattern.findall(path.read_text(encoding="utf-8"))
    }
    assert fetched == set()


def test_the_reference_has_the_parameters_of_the_stages(site: Path) -> None:
    page = (site / "docs" / "reference" / "tasks.html").read_text(encoding="utf-8")
    assert "--held-out-fraction" in page
    assert "TableOfViewPairs" in page
