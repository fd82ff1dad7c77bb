"""The group of subcommands ``treeviews inspect``, whose path may come first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from treeviews.command.inspect.counts import check, schema, stats
from treeviews.command.inspect.export import export
from treeviews.command.inspect.parses import diff
from treeviews.command.inspect.rows import head, overview, show
from treeviews.command.inspect.search import grep, html

COMMANDS: dict[str, Callable[..., Any]] = {
    "overview": overview,
    "schema": schema,
    "head": head,
    "show": show,
    "grep": grep,
    "html": html,
    "diff": diff,
    "stats": stats,
    "check": check,
    "export": export,
}


class _PathFirst(typer.core.TyperGroup):
    """Takes ``PATH`` alone for its overview, and ``PATH COMMAND`` as ``COMMAND PATH``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            if len(args) > 1 and args[1] in COMMANDS:
                args = [args[1], args[0], *args[2:]]
            elif Path(args[0]).exists() or "://" in args[0] or _is_alone(args):
                args = ["overview", *args]
        return super().parse_args(ctx, args)


def _is_alone(args: list[str]) -> bool:
    """Says whether nothing but options follows the first word, which then is no command."""
    return len(args) < 2 or args[1].startswith("-")


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand with its own ones."""
    group = typer.Typer(
        cls=_PathFirst,
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Look at parsed shards: inspect PATH, or inspect COMMAND PATH.",
    )
    for name, command in COMMANDS.items():
        group.command(name)(command)
    app.add_typer(group, name="inspect")
