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
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS
from treeviews.pipeline.parsers.parser_files import checksum_of_parser_folder
from treeviews.pipeline.shards.manifests import MANIFEST_NAME, read_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.text.tokenization import SentenceConfig

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
        "it; by default the one that `make run` made: all of python-docs, by the bundled parsers",
    )
    parser.add_argument("--word-size", type=int, default=300, help="of the random word vectors")
    parser.add_argument("--seed", type=int, default=0)


def corpus_folders(corpus: Path | None) -> CorpusFolders:
    """Returns the stages of a parsed corpus.

    Args:
        corpus: the folder with ``sentences``, ``dependencies-…`` and ``constituents-…`` in it;
            None takes the default run's text, the newest if there are several. Of several parses
            that of the default run comes first, then the newest.

    Raises:
        FileNotFoundError: no such corpus, or a stage of it is not complete; says how to make one.
    """
    if corpus is not None:
        return _stages(corpus)
    found = [path.parent.parent for path in DEFAULT_CORPORA.glob(DEFAULT_SENTENCES)]
    default = [folder for folder in found if _is_of_the_default_run(folder)]
    if not default:
        raise FileNotFoundError(
            f"{DEFAULT_CORPORA}: no parsed text of the default run here (all of python-docs, by "
            "the bundled parsers in exact arithmetic); run `make run` first, or give a corpus "
            "folder with --corpus"
        )
    return _stages(max(default, key=lambda folder: folder.stat().st_mtime))


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


def _is_of_the_default_run(corpus: Path) -> bool:
    """Says whether all stages are there as a run without parameters makes them."""
    best = [_best(corpus, stage) for stage in STAGES]
    return all(
        folder is not None and _is_default(folder, stage)
        for folder, stage in zip(best, STAGES, strict=True)
    )


def _best(corpus: Path, stage: str) -> Path | None:
    """Returns the stage's complete folder, by the default parser if several parsed, or the newest.

    None if there is none.
    """
    complete = [path for path in corpus.glob(f"{stage}*") if (path / MANIFEST_NAME).exists()]
    return max(
        complete, key=lambda path: (_is_default(path, stage), path.stat().st_mtime), default=None
    )


def _is_default(folder: Path, stage: str) -> bool:
    """Says whether a run without parameters makes this: its configuration, whatever its release."""
    try:
        manifest = read_dataset_manifest(folder, stage)
    except ValueError:
        return False  # of another release; if it is asked for, its reader says so
    config = manifest.config
    if stage == "sentences":
        return (
            config.get("corpus", {}).get("source") == "python-docs"
            and config.get("splitter", {}).get("config") == SentenceConfig().to_dict()
            and "cleaning" not in config
        )
    if config.get("precision") != "exact":
        return False
    bundled = checksum_of_parser_folder(BUNDLED_PARSERS[stage])
    return all(shard.extra.get("parser_checksum") == bundled for shard in manifest.shards)


def _stages(corpus: Path) -> CorpusFolders:
    found = {stage: _best(corpus, stage) for stage in STAGES}
    if missing := [stage for stage, folder in found.items() if folder is None]:
        raise FileNotFoundError(
            f"{corpus}: no complete {' and no '.join(missing)} in this folder; give the one that "
            "holds sentences/, dependencies-…/ and constituents-…/ (`make run` makes one under "
            "data/work/corpora)"
        )
    sentences = found["sentences"]
    assert sentences is not None
    return CorpusFolders(
        sentences=sentences, dependencies=found["dependencies"], constituents=found["constituents"]
    )
