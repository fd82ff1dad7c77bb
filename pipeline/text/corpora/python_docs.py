"""The embedded corpus: the documentation that every Python interpreter carries with it.

First the language reference (`pydoc_data.topics`), one document a topic; then the docstrings of
the standard library, one document a module, in source order. The library is read as text by `ast`
and never imported, so nothing runs and nothing depends on the platform or on ``-OO``.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import platform
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.text.corpora.document import Document, Paragraph
from pipeline.text.corpora.prose import prose_paragraphs

EXTRACTION_VERSION = 1
"""Raised whenever the same interpreter would give other paragraphs."""

# Left out: what some distributions package apart or later versions removed (so that one version
# of Python gives one corpus everywhere), tests, and tables of characters.
_SEPARATE_PACKAGES = {"distutils", "ensurepip", "idlelib", "lib2to3", "tkinter", "turtledemo"}
_LEFT_OUT = _SEPARATE_PACKAGES | {"encodings", "pydoc_data", "test", "tests"}
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
"""Where statements hold statements; expressions hold no docstrings and are not searched."""
_Documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class PythonDocs:
    """The language reference and the standard library's docstrings, as prose."""

    def __init__(self) -> None:
        self._fraction = 0.0

    def describe(self) -> dict[str, Any]:
        """Returns interpreter, extraction version and a checksum of all that is read."""
        return {
            "source": "python-docs",
            "extraction_version": EXTRACTION_VERSION,
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "sha256": _sources_checksum(_library_root()),
        }

    def documents(self) -> Iterator[Document]:
        """Yields topics, then modules; a paragraph that occurred before is not repeated.

        Raises:
            FileNotFoundError: the interpreter was installed without its sources.
        """
        root = _library_root()
        topics, files = _topics(), _source_files(root)
        total = len(topics) + len(files)
        seen: set[str] = set()
        for number, (name, text) in enumerate(topics):
            self._fraction = number / total
            fresh = _unseen(((p, f"topic {name}") for p in prose_paragraphs(text)), seen)
            yield Document(f"topic/{name}", fresh)
        for number, path in enumerate(files, start=len(topics)):
            self._fraction = number / total
            fresh = _unseen(_docstring_paragraphs(path, root), seen)
            yield Document(f"module/{_module_name(path, root)}", fresh)
        self._fraction = 1.0

    def fraction_read(self) -> float:
        """Returns the share of topics and modules read."""
        return self._fraction


def _topics() -> list[tuple[str, str]]:
    """Returns the topics, longest first: the long ones contain some of the short ones whole."""
    from pydoc_data.topics import topics

    return sorted(topics.items(), key=lambda item: (-len(item[1]), item[0]))


def _library_root() -> Path:
    return Path(sysconfig.get_path("stdlib"))


def _source_files(root: Path) -> list[Path]:
    """Returns the standard library's source files in a fixed order."""
    found = [
        path
        for path in root.rglob("*.py")
        if path.relative_to(root).parts[0].removesuffix(".py") in sys.stdlib_module_names
        and _LEFT_OUT.isdisjoint(path.relative_to(root).parts)
    ]
    if not found:
        raise FileNotFoundError(
            f"{root}: no Python sources, so there are no docstrings to read; install the "
            "interpreter's standard library as .py files or use source 'files'"
        )
    return sorted(found, key=lambda path: path.relative_to(root).as_posix())


def _module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def _sources_checksum(root: Path) -> str:
    digest = hashlib.sha256()
    for name, text in _topics():
        digest.update(f"{name}\0{text}\0".encode())
    for path in _source_files(root):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _docstring_paragraphs(path: Path, root: Path) -> Iterator[tuple[str, str]]:
    """Yields (paragraph, position) of a module's docstrings in source order."""
    name = path.relative_to(root).as_posix()
    for line, docstring in _docstrings(ast.parse(path.read_bytes())):
        for paragraph in prose_paragraphs(docstring, begins_with_summary=True):
            yield paragraph, f"{name}:{line}"


def _docstrings(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yields (line, dedented docstring) of a node and of what it contains."""
    if isinstance(node, _Documented):
        docstring = ast.get_docstring(node, clean=False)
        if docstring is not None:
            yield node.body[0].lineno, inspect.cleandoc(docstring)
    for block in _BLOCKS:
        for child in getattr(node, block, ()):
            yield from _docstrings(child)


def _unseen(paragraphs: Iterator[tuple[str, str]], seen: set[str]) -> Iterator[Paragraph]:
    for text, position in paragraphs:
        if text not in seen:
            seen.add(text)
            yield Paragraph(text, position)
