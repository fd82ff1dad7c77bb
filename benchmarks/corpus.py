"""The parsed text that benchmarks run on: a corpus folder, and random vectors for its words."""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treeviews.models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.words.word_vectors import WordVectors
from treeviews.pipeline.shards.manifests import MANIFEST_NAME, read_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard

DEFAULT_CORPORA = Path("data/work/corpora")
DEFAULT_SENTENCES = f"python-docs-*/sentences/{MANIFEST_NAME}"
STAGES = ("sentences", "dependencies", "constituents")
VECTOR_RMS = 0.35
"""Root mean square of the random vectors' components, as the laptop preset scales real ones."""


def add_corpus_options(parser: argparse.ArgumentParser) -> None:
    """Gives a command line the options that say what text and which random numbers it takes."""
    parser.add_argument(
        "--corpus",
        type=Path,
        help="folder of a parsed corpus, with sentences/, dependencies-*/ and constituents-*/ in "
        "it; by default the newest of python-docs, as `make run` makes it",
    )
    parser.add_argument("--word-size", type=int, default=300, help="of the random word vectors")
    parser.add_argument("--seed", type=int, default=0)


def corpus_folders(corpus: Path | None) -> CorpusFolders:
    """Returns the stages of a parsed corpus, of several parses the newest.

    Args:
        corpus: the folder with ``sentences``, ``dependencies-…`` and ``constituents-…`` in it;
            None takes the newest of python-docs.

    Raises:
        FileNotFoundError: no such corpus, or a stage of it is not complete; says how to make one.
    """
    if corpus is None:
        made = [path.parent.parent for path in DEFAULT_CORPORA.glob(DEFAULT_SENTENCES)]
        if not made:
            raise FileNotFoundError(
                f"{DEFAULT_CORPORA}: no parsed text of python-docs here; run `make run` first, or "
                "give a corpus folder with --corpus"
            )
        corpus = max(made, key=lambda folder: folder.stat().st_mtime)
    found: dict[str, Path] = {}
    for stage in STAGES:
        complete = [path for path in corpus.glob(f"{stage}*") if (path / MANIFEST_NAME).exists()]
        if not complete:
            raise FileNotFoundError(
                f"{corpus}: no complete {stage} in this folder; give the one that holds "
                "sentences/, dependencies-…/ and constituents-…/ (`make run` makes one under "
                "data/work/corpora)"
            )
        found[stage] = max(complete, key=lambda folder: folder.stat().st_mtime)
    return CorpusFolders(**found)


def identity(folders: CorpusFolders) -> dict[str, str]:
    """Returns what tells which text ran: the corpus folder's name, and a digest of its shards.

    The digest is of the checksums that the stages' manifests hold, so it is the same wherever the
    same parsed text lies.
    """
    digest = hashlib.sha256()
    for stage in STAGES:
        for shard in read_dataset_manifest(getattr(folders, stage), stage).shards:
            digest.update(bytes.fromhex(shard.sha256))
    return {
        "corpus": folders.sentences.absolute().parent.name,
        "corpus_digest": digest.hexdigest()[:12],
    }


def random_vectors(folders: CorpusFolders, word_size: int, seed: int) -> WordVectors:
    """Returns random vectors for every word of the corpus, so that no vector file is needed."""
    distinct: set[str] = set()
    for shard in read_dataset_manifest(folders.sentences, "sentences").shards:
        tokens = read_shard(folders.sentences, "sentences", shard.number, ["tokens"])["tokens"]
        flat: pa.ChunkedArray = pc.list_flatten(tokens)
        distinct.update(pc.unique(flat).to_pylist())
    words = sorted(distinct)
    rows = np.random.default_rng(seed).standard_normal((len(words), word_size), dtype=np.float32)
    return WordVectors.from_rows(words, VECTOR_RMS * rows)


def first_sentences(folders: CorpusFolders, vectors: WordVectors, count: int) -> SentenceBlock:
    """Returns the first sentences that have both trees, with both trees.

    Raises:
        ValueError: the corpus holds fewer.
    """
    corpus = ParsedCorpus(folders, vectors, views=("DEP", "CONST"))
    sizes = []
    for block in corpus.blocks():
        sizes.append(len(block))
        if len(block) >= count:
            return block.slice(0, count)
    raise ValueError(
        f"{folders.sentences.parent}: no shard of it holds {count} parsed sentences (the largest "
        f"{max(sizes, default=0)}); lower --sentences or give a larger corpus"
    )
