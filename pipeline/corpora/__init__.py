"""Where text comes from: one small module a source, all opened by name."""

from __future__ import annotations

from pipeline.corpora.document import Document, Paragraph, Refusal, Source
from pipeline.corpora.registry import open_source

__all__ = ["Document", "Paragraph", "Refusal", "Source", "open_source"]
