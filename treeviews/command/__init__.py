"""The command ``treeviews``; a file a subcommand."""

from treeviews.command.app import main

__all__ = ["main"]
