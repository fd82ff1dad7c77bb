"""Makes the default text: ``python data/make_python_docs.py``, run by the Python it is of.

First the language reference (`pydoc_data.topics`), one document a topic; then the docstrings of
the standard library, one document a module, in source order; of all, the paragraphs that are prose
and occurred nowhere before. The library is read as text by `ast` and never imported. The file that
ships was made by CPython 3.11.7; another version gives another text, and so other digests of every
run on it.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import inspect
import json
import platform
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

OUTPUT = Path(__file__).parent / "text" / "python-docs.jsonl.gz"

_UNDERLINE = re.compile(r"^([=\-~*^#_+.])\1{2,}$")
_BULLET = re.compile(r"^(?:[-*•o+]|\(?\d{1,2}[.)]|\[\d{1,2}\]|\(?[a-z]\))(\s+)(?=\S)")
_DIRECTIVE = re.compile(r"^\.\. ")
_CODE_LINE = re.compile(
    r"^(?:>>>|\.\.\. |\$ |% |@\w|\(Pdb\)|#|import [\w., ]+$|from \S+ import |"
    r"def \w+\(|class \w+[(:])"
)
_GRAMMAR_OR_TABLE = re.compile(r"::=|^\+[-=+]{2}|^\|.*\||^[-=]{3,}\s|\s[-=]{4,}$|\S {3,}\S")
_SIGNATURE = re.compile(r"^[\w.]+\(.*\)?(?: ?(?:->|-->|==>|=>|=) ?[\w\[\], .|]+)?:?$")
_ITEM = re.compile(
    r"^[*\"'`(]{0,3}[\w.*, \-\[\]<>=|/()'\"]{1,40}?[\"'`)]{0,3}\s*(?:--?|–|:|->|=>|\.\.\.)\s"
)
_LABELLED = re.compile(r"^(?:Note|Notes|Warning|Caution|Remark|Important|Tip)\s*(?::|--?)\s*(?=\S)")
_VERSION_NOTE = re.compile(
    r"^(?:Changed|Deprecated since|New|Added) (?:in )?version [\d.]+\w*: (?=\S)"
)
_VERSION_ONLY = re.compile(r"^(?:New|Added|Changed|Deprecated)\b.{0,20}\bversion [\d.]+\w*\.?$")
_FIELD = re.compile(r"^[:@](?:param|type|return|rtype|raise|arg|keyword|exc|var|cvar|ivar)")

_WORD = re.compile(r"^[(\[\"'“‘]*[A-Za-z]+(?:['’\-/][A-Za-z]+)*[)\]\"'”’]*[.,;:!?…]*[)\]\"'”’]*$")
_OPENING = re.compile(r"^[(\"'“‘]*(?:[A-Z]|[\w.]+\(\)|\w*_\w*\b)|^[\"'“]\S")
_UNFINISHED = re.compile(r"(?<=[.!?])\s+[^.!?]*$")
_LEAD_IN = re.compile(r"(?<=[.!?])\s+(?:[A-Z][\w ]{1,30}:|(?:e\.g\.|i\.e\.|eg\.|ie\.):?)$", re.I)
_ENDING = re.compile(r"[.!?:…][)\]\"'”’]*$")
_FUNCTION_WORD = re.compile(
    r"\b(?:an?|the|this|that|it|its|is|are|be|was|were|has|have|can|will|may|must|should|of|to|in|"
    r"into|for|on|with|by|from|at|as|if|not|no|and|or|when|which|all|any)\b",
    re.IGNORECASE,
)
_MARKUP: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # :role:`title <target>` and `title <target>`_ keep their title.
        (r":[\w:+.-]+:`([^`<]+?)\s*<[^`>]*>`", r"\1"),
        (r"`([^`<]+?)\s*<[^`>]*>`__?", r"\1"),
        # :role:`~package.name` keeps the last part, as the rendered page does.
        (r":[\w:+.-]+:`~(?:[\w]+\.)*([^`]+)`", r"\1"),
        (r":[\w:+.-]+:`!?([^`]+)`", r"\1"),
        (r"``(.+?)``", r"\1"),
        # `name', the old typewriter quotes, and `name`.
        (r"`([^`']+)['`]_{0,2}(?!\w)", r"\1"),
        (r"(?<![\w*])\*\*(\S(?:[^*]*?[^\s*])?)\*\*(?![\w*])", r"\1"),
        (r"(?<![\w*])\*([A-Za-z_](?:[^*]*?[^\s*])?)\*(?!\*)", r"\1"),
        # Quotes about one name are how the text builder shows code: "len()" is len().
        (r"(?<![\w\"'])\"([A-Za-z_][\w.]*(?:\(\))?)\"(?!\w)", r"\1"),
        # Footnote references.
        (r"\s\[\d{1,2}\](?=[\s.,;:)]|$)", ""),
        (r"\\(?=[*`|_\\])", ""),
    )
)
MIN_WORDS = 3
MIN_WORD_SHARE = 0.7
"""Of a paragraph's space-separated words, at least this share has letters alone."""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def prose_paragraphs(text: str, *, begins_with_summary: bool = False) -> Iterator[str]:
    """Yields the paragraphs of prose in a docstring or documentation topic, in order.

    Args:
        text: dedented; hard-wrapped, with reStructuredText or plain-text markup.
        begins_with_summary: the first paragraph is one sentence even where its period is missing,
            as in the docstrings of PEP 257.
    """
    for number, block in enumerate(split_blocks(text)):
        if begins_with_summary and number == 0 and block[-1][-1].isalnum():
            block[-1] += "."
        paragraph = as_prose(block)
        if paragraph is not None:
            yield paragraph


def split_blocks(text: str) -> Iterator[list[str]]:
    """Yields runs of stripped lines that belong to one paragraph, literal blocks left out.

    A blank line, a bullet, a field or a change of indentation begins a new block; an underline
    removes itself and its heading; the deeper lines after ``::`` and the lines of a doctest go.
    """
    block: list[str] = []
    depth = 0
    literal_depth: int | None = None
    in_doctest = False
    for raw in text.expandtabs().splitlines():
        line = raw.strip()
        if not line:
            in_doctest = False
        elif literal_depth is not None and _indent(raw) > literal_depth:
            line = ""
        else:
            literal_depth = None
            in_doctest = in_doctest or line.startswith(">>>")
        if in_doctest:
            line = ""
        if _UNDERLINE.match(line):
            block, line = [], ""
        bullet = _BULLET.match(line)
        indent = _indent(raw) + (bullet.end() if bullet else 0)
        if block and (not line or bullet or _FIELD.match(line) or indent != depth):
            yield block
            block = []
        if not line:
            continue
        if line.endswith("::") or _DIRECTIVE.match(line):
            literal_depth = _indent(raw)
        depth = indent
        block.append(line[bullet.end() :] if bullet else line)
    if block:
        yield block


def as_prose(block: list[str]) -> str | None:
    """Returns a block's lines as one clean paragraph, or None where it isn't English prose."""
    if any(_CODE_LINE.match(line) or _GRAMMAR_OR_TABLE.search(line) for line in block):
        return None
    if _SIGNATURE.match(block[0]):
        block = block[1:]
    if not block or _DIRECTIVE.match(block[0]) or _FIELD.match(block[0]):
        return None
    text = plain_words(_join(block))
    text = _VERSION_NOTE.sub("", _LABELLED.sub("", text))
    if _ITEM.match(text) or _VERSION_ONLY.match(text):
        return None
    text = _LEAD_IN.sub("", text)
    if not _ENDING.search(text):
        text = _UNFINISHED.sub("", text)
    return text if reads_as_english(text) else None


def _join(block: list[str]) -> str:
    joined = " ".join(block)
    joined = re.sub(r"(?<=[a-z])- (?=[a-z])", "-", joined)
    joined = re.sub(r"\b([ie])\. ([eg])\.", r"\1.\2.", joined)
    return re.sub(r"\s+", " ", joined.removesuffix("::") + (":" if joined.endswith("::") else ""))


def reads_as_english(text: str) -> bool:
    """Says whether a paragraph is whole sentences of words rather than code, names or a heading."""
    words = text.split()
    if len(words) < MIN_WORDS or not _OPENING.match(text) or not _ENDING.search(text):
        return False
    plain = [word for word in words if _WORD.match(word)]
    if len(plain) < MIN_WORD_SHARE * len(words):
        return False
    return any(_FUNCTION_WORD.match(word) for word in plain)


def plain_words(text: str) -> str:
    """Returns a text whose roles, literals, emphasis, links and footnote marks are plain words."""
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return text.strip()


_PROSE_SHARE = 0.06
"""Of a module's bytes."""
EXTRACTION_VERSION = 1
"""Raised whenever the same interpreter would give other paragraphs."""

# Left out: what some distributions package apart or later versions removed (so that one version
# of Python gives one corpus everywhere), tests, and tables of characters.
_SEPARATE_PACKAGES = {"distutils", "ensurepip", "idlelib", "lib2to3", "tkinter", "turtledemo"}
_LEFT_OUT = _SEPARATE_PACKAGES | {"encodings", "pydoc_data", "test", "tests"}
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
"""Where statements hold statements; expressions hold no docstrings and are not searched."""
_Documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def main() -> None:
    """Writes the file: a line that says what it is of, then one a document."""
    root = _library_root()
    topics, files = _topics(), _source_files(root)
    documents = [
        (f"topic/{name}", len(text), [(p, f"topic {name}") for p in prose_paragraphs(text)])
        for name, text in topics
    ]
    documents += [
        (
            f"module/{_module_name(path, root)}",
            round(_PROSE_SHARE * path.stat().st_size),
            list(_docstring_paragraphs(path, root)),
        )
        for path in files
    ]
    digest = hashlib.sha256()
    for name, text in topics:
        digest.update(f"{name}\0{text}\0".encode())
    for path in files:
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    origin = {
        "source": "python-docs",
        "extraction_version": EXTRACTION_VERSION,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "sha256": digest.hexdigest(),
    }
    lines, seen = [json.dumps(origin)], set[str]()
    for name, num_bytes, paragraphs in documents:
        new = [
            (text, place) for text, place in paragraphs if text not in seen and not seen.add(text)
        ]
        values = {"name": name, "num_bytes": num_bytes, "paragraphs": new}
        lines.append(json.dumps(values, ensure_ascii=False))
    content = "".join(f"{line}\n" for line in lines).encode()
    OUTPUT.write_bytes(gzip.compress(content, 9, mtime=0))


def _topics() -> list[tuple[str, str]]:
    """Returns the topics, longest first: the long ones contain some of the short ones whole."""
    from pydoc_data.topics import topics

    return sorted(topics.items(), key=lambda item: (-len(item[1]), item[0]))


def _library_root() -> Path:
    return Path(sysconfig.get_path("stdlib"))


def _source_files(root: Path) -> list[Path]:
    """Returns the standard library's source files in a fixed order."""
    files = [
        path
        for path in root.rglob("*.py")
        if path.relative_to(root).parts[0].removesuffix(".py") in sys.stdlib_module_names
        and _LEFT_OUT.isdisjoint(path.relative_to(root).parts)
    ]
    return sorted(files, key=lambda path: path.relative_to(root).as_posix())


def _module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


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


if __name__ == "__main__":
    main()
