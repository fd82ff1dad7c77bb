"""Treeviews on a page: sentences in; vectors, likenesses, trees, scores and shards out.

    import treeviews

    vectors = treeviews.encode(["The cat sat.", "It slept."])      # float32 [2, 300]
    encoder = treeviews.load("english-trees")                      # load once, encode often

Everything here stands in one of the floors below it (`tasks`, `models`, `pipeline`) and is loaded
when it is first called: importing this module loads no torch.
"""

from __future__ import annotations

from importlib.metadata import version

from treeviews.own_floors import claim_floors

claim_floors()

from models import load  # noqa: E402 - only now is it surely ours

__all__ = ["load"]
__version__ = version("treeviews")
