"""The sentences of a source, split in this process."""

from __future__ import annotations

from pathlib import Path

from pipeline.shards.manifests import DatasetManifest
from pipeline.text.documents import Source
from pipeline.text.split_corpus import CorpusSplit
from pipeline.text.tokenization import SentenceConfig


def split_sentences(source: Source, config: SentenceConfig, folder: Path) -> DatasetManifest:
    """Writes the shards that are missing; returns the manifest."""
    corpus = CorpusSplit(source, config, folder)
    corpus.begin()
    return corpus.split_all()
