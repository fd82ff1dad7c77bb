"""Treeviews' module of sentence-transformers, by the name that exported folders call it."""

from __future__ import annotations

from treeviews.models.exchange.sentence_transformers_module import ParsedSentences

__all__ = ["ParsedSentences"]
