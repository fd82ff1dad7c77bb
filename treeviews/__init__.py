"""Treeviews on a page: sentences in; vectors, likenesses, trees, scores and shards out.

    import treeviews

    vectors = treeviews.encode(["The cat sat.", "It slept."])      # float32 [2, 300]
    encoder = treeviews.load("english-trees")                      # load once, encode often

Everything here stands in one of the floors below it (`tasks`, `models`, `pipeline`) and is loaded
when it is first called: importing this module loads no torch.
"""

from __future__ import annotations

from importlib.metadata import version

from models import load
from pipeline.parsing.formats import write_parses
from pipeline.parsing.parse_text import Parser, parse

__all__ = ["Parser", "load", "parse", "write_parses"]
__version__ = version("treeviews")
