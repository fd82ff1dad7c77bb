"""Links and paths in the documents exist; versions agree; README is a page."""

from __future__ import annotations

import importlib
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import typer

from tests.support.repository import REPOSITORY
from treeviews import tasks
from treeviews.command.app import app

WITH_PATHS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
ROOTS = ("pipeline", "models", "tasks", "treeviews", "data", "tests", "docs", "benchmarks")
MADE_BY_RUNS = "data/work"
LINK = re.compile(r"\]\(([^)\s]+)\)|<(?:img|a) [^>]*(?:src|href)=\"([^\"]+)\"")
CODE = re.compile(r"`([^`\n]+)`")


def documents() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    return [
        REPOSITORY / name for name in listed.stdout.splitlines() if (REPOSITORY / name).exists()
    ]


def anchors(document: Path) -> set[str]:
    """The anchors that GitHub gives to a document's headings."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def test_every_link_between_documents_has_its_target() -> None:
    broken = []
    for document in documents():
        for match in LINK.finditer(document.read_text(encoding="utf-8")):
            target, _, anchor = (match[1] or match[2]).partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            path = (document.parent / target) if target else document
            if not path.exists() or (anchor and anchor not in anchors(path)):
                broken.append(f"{document.relative_to(REPOSITORY)}: {match[0]}")
    assert broken == []


@pytest.mark.parametrize("name", WITH_PATHS)
def test_every_path_that_a_document_names_exists(name: str) -> None:
    """Paths begin with a folder of the repository; braces and … stand for several."""
    missing = []
    for code in CODE.findall((REPOSITORY / name).read_text(encoding="utf-8")):
        if code.startswith(MADE_BY_RUNS) or not re.fullmatch(r"[\w./-]+", code):
            continue
        if code.split("/")[0] in ROOTS and "/" in code and not (REPOSITORY / code).exists():
            missing.append(code)
    assert missing == []


def test_what_the_documents_import_exists() -> None:
    missing = []
    for document in documents():
        text = document.read_text(encoding="utf-8")
        for module, name in re.findall(r"^from (treeviews[\w.]*) import (\w+)", text, re.M):
            if not hasattr(importlib.import_module(module), name):
                missing.append(f"{document.relative_to(REPOSITORY)}: {module}.{name}")
    assert missing == []


def test_every_command_of_the_documents_exists() -> None:
    """But in the changelog and in results, which also name those that went."""
    missing = []
    results = {path for path in documents() if path.parent == REPOSITORY / "docs" / "results"}
    for document in set(documents()) - {REPOSITORY / "CHANGELOG.md"} - results:
        for name in re.findall(r"python -m ([a-z][\w.]*)", document.read_text(encoding="utf-8")):
            folder = REPOSITORY / name.removeprefix("treeviews.").replace(".", "/")
            file, main = folder.with_suffix(".py"), folder / "__main__.py"
            runs = main.exists() or (
                file.exists() and '__name__ == "__main__"' in file.read_text(encoding="utf-8")
            )
            if name.split(".")[0] in ROOTS and not runs:
                missing.append(f"{document.relative_to(REPOSITORY)}: {name}")
    assert missing == []


def test_the_newest_version_of_the_changelog_is_the_packages() -> None:
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = re.findall(r"^## (\d+\.\d+\.\d+) – \d{4}-\d\d-\d\d$", changelog, re.MULTILINE)
    assert project["version"] == versions[0]
    assert f"\nversion: {versions[0]}\n" in citation


def test_readme_is_a_page() -> None:
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()) <= 130


def test_every_subcommand_of_the_documents_exists() -> None:
    """``treeviews NAME`` in code; the results keep the commands of their time."""
    known = set(typer.main.get_command(app).commands)
    stages = set(tasks.__all__)
    missing = []
    for document in documents():
        if document.name == "CHANGELOG.md" or document.parent.name == "results":
            continue
        text = document.read_text(encoding="utf-8")
        for name, next_word in re.findall(
            r"^(?:    |`|\$ )?treeviews ([a-z]\w*)(?: ([A-Z]\w+))?", text, re.MULTILINE
        ):
            place = document.relative_to(REPOSITORY)
            if name not in known:
                missing.append(f"{place}: treeviews {name}")
            if name == "run" and next_word and next_word not in stages | {"STAGE"}:
                missing.append(f"{place}: treeviews run {next_word}")
    assert missing == []
