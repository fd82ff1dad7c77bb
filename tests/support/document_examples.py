"""The examples of the documents: fenced blocks, what each is, and the commands in it.

A block says what it is after its first fence: ``python``, ``yaml``, ``text`` (nothing to run),
``console`` (commands behind ``$``, and what is said to each) or ``bash``. A block without a word is
of commands if it begins with a program that `PROGRAMS` knows.
What cannot run here bears a mark in the line before it, with the reason::

    <!-- example: not run: needs a cluster -->

What takes a library that only an extra brings is tried where the library is there::

    <!-- example: needs: mteb -->

A block of nothing but options is tried as those of a command, a line at a time::

    <!-- example: options of: treeviews evaluate --encoder english --data DIR -->
"""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.repository import REPOSITORY

FENCE = re.compile(r"^( *)(`{3,})(\S*).*$")
MARK = re.compile(r"^\s*<!-- example: (?P<what>.*?) *-->\s*$")
NOT_RUN = "not run:"
NEEDS = "needs:"
OPTIONS_OF = "options of:"
SHELL = ("bash", "sh")
PROGRAMS = (
    *("luigi", "treeviews", "python", "python3", "make", "git", "pip", "ray", "printf", "cd"),
    *("source", "torchrun", "mkdir", "srun", "sbatch", "kubectl", "docker"),
    *("sphinx-build", "export", "tar", "cat", "podman", "hf", "huggingface-cli"),
)
OURS = ("treeviews", "luigi")
REDIRECTIONS = {"<", ">", ">>", "2>"}
BETWEEN = {"&&", "||", "|", ";", "&"}


@dataclass(frozen=True)
class Example:
    """A fenced block of a document."""

    document: str
    line: int
    language: str
    text: str
    mark: str | None

    @property
    def name(self) -> str:
        return f"{self.document}:{self.line}"

    @property
    def is_script(self) -> bool:
        """Whether it is a file for a scheduler, not lines to type."""
        return self.text.startswith("#!")

    @property
    def is_shell(self) -> bool:
        """Whether it is of commands to type."""
        words = self.text.split()
        known = self.language == "" and words and words[0] in PROGRAMS
        is_options = self.mark is not None and self.mark.startswith(OPTIONS_OF)
        return (self.language in SHELL or bool(known) or is_options) and not self.is_script

    @property
    def is_dialogue(self) -> bool:
        """Whether it has commands behind prompts, and what is said to each."""
        return self.language == "console"

    def turns(self) -> list[tuple[str, str]]:
        """Returns every command of a dialogue with what is said to it."""
        parts = re.split(r"^\$ (.*)\n", self.text, flags=re.MULTILINE)[1:]
        return list(zip(parts[::2], parts[1::2], strict=True))

    @property
    def is_tried(self) -> bool:
        """Whether it is not marked as one that cannot run, here or anywhere."""
        kind, _, what = (self.mark or "").partition(" ")
        if kind == NEEDS:
            return all(importlib.util.find_spec(name.strip()) for name in what.split(","))
        return self.mark is None or not self.mark.startswith(NOT_RUN)

    def commands(self) -> list[list[str]]:
        """Returns the words of every command, without redirections and comments."""
        return [command for _, commands in self.lines_with_commands() for command in commands]

    def commands_of_ours(self) -> list[list[str]]:
        """Returns the words of every command, or of what is typed in a dialogue, that is ours."""
        typed = self.commands() if self.is_shell else []
        if self.is_dialogue:
            typed = [words for command, _ in self.turns() for words in simple_commands(command)]
        return [words for words in typed if words[0] in OURS]

    def lines_with_commands(self) -> list[tuple[str, list[list[str]]]]:
        """Returns every line of a shell block with its commands."""
        return [(line, simple_commands(line)) for line in self.lines()]

    def lines(self) -> list[str]:
        """Returns the lines of a shell block, those that a backslash continues as one."""
        joined = re.sub(r"\\\n\s*", " ", self.text)
        before = ""
        if self.mark is not None and self.mark.startswith(OPTIONS_OF):
            before = self.mark.removeprefix(OPTIONS_OF).strip() + " "
        lines = [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]
        return [before + line for line in lines]


def documents() -> list[Path]:
    """Returns the documents whose examples are tried: README, CONTRIBUTING, guides, tutorials."""
    return [
        REPOSITORY / "README.md",
        REPOSITORY / "CONTRIBUTING.md",
        *sorted((REPOSITORY / "docs").glob("*.md")),
        *sorted((REPOSITORY / "docs" / "tutorials").glob("*.md")),
    ]


def examples(document: Path) -> Iterator[Example]:
    """Yields a document's fenced blocks in order."""
    lines = document.read_text(encoding="utf-8").splitlines()
    fence, start, language, mark = "", 0, "", None
    block: list[str] = []
    for number, line in enumerate(lines, 1):
        match = FENCE.match(line)
        if not fence and match:
            fence, start, language, block = match[2], number, match[3], []
            before = next((text for text in reversed(lines[: number - 1]) if text.strip()), "")
            found = MARK.match(before)
            mark = found["what"] if found else None
        elif fence and line.strip() == fence:
            name = str(document.relative_to(REPOSITORY))
            yield Example(name, start, language, "\n".join(block) + "\n", mark)
            fence = ""
        elif fence:
            block.append(line)


def all_examples() -> list[Example]:
    """Returns the examples of all documents."""
    return [example for document in documents() for example in examples(document)]


def simple_commands(line: str) -> list[list[str]]:
    """Returns the commands of a line of a shell, each as its words."""
    commands: list[list[str]] = [[]]
    words = iter(_words(line))
    for word in words:
        if word in BETWEEN:
            commands.append([])
        elif word in REDIRECTIONS:
            next(words)
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


def redirections(line: str) -> dict[str, str]:
    """Returns the files that the command of a line reads and writes instead of a terminal."""
    words, names = _words(line), {"<": "stdin", ">": "stdout"}
    return {names[one]: words[place + 1] for place, one in enumerate(words) if one in names}


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="<>&|;")
    lexer.whitespace_split = True
    return list(lexer)
