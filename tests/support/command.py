"""The command ``treeviews`` as tests of what stands below it call it: with one subcommand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treeviews.command import main


def subcommand(*names: str) -> Callable[[Sequence[str]], int]:
    """Returns what runs a subcommand with further arguments; it returns the exit code."""
    return lambda arguments: main([*names, *arguments])
