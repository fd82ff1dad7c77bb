"""``treeviews inspect``: a corpus' rows, trees and counts, and whether all of it is right."""

from treeviews.command.inspect.group import add_to

__all__ = ["add_to"]
