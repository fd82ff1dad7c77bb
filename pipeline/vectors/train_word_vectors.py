"""Trains skip-gram word vectors on plain text, the ones that ship with the project included.

Run as ``python -m pipeline.vectors.train_word_vectors --text PATHS... --out DIR``. Needs gensim,
which only this file imports (``pip install treeviews[vectors]``).

Text is UTF-8, one paragraph a line, tokenised as the sentences stage does it, so that a word of
the corpus is a word of the vectors. Words keep their case. One thread: gensim's workers race, and
the same command has to give the same file.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.digest import sha256_of_file

logger = logging.getLogger(__name__)

VECTORS_FILE = "vectors.safetensors"
WORDS_FILE = "words.json"
FACTS_FILE = "training.json"
PARAGRAPHS_PER_ZONE = 2_000


@dataclass(frozen=True, slots=True)
class SkipGramConfig:
    """Settings of skip-gram with negative sampling (Mikolov et al. 2013)."""

    size: int = 100
    """Dimensions of a vector."""
    max_words: int = 30_000
    """The most frequent words are kept; at 100 half-precision dimensions that is 6 MB."""
    min_count: int = 5
    window: int = 5
    negative: int = 8
    """Negative samples a pair; small corpora want 5 to 20 (Mikolov et al. 2013, section 2.2)."""
    subsample: float = 1e-4
    """Frequent words above this share of the text are thinned out."""
    epochs: int = 8
    rms: float = 0.35
    """Root mean square of a component after scaling; tree encoders do not train at 1.0."""
    seed: int = 0


def text_files(paths: Sequence[Path]) -> list[Path]:
    """Returns the given files and the ``.txt`` files under the given folders, sorted.

    Raises:
        ValueError: a path does not exist or a folder holds no ``.txt`` file.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            found = sorted(path.rglob("*.txt"))
            if not found:
                raise ValueError(f"{path}: no .txt file in this folder")
            files.extend(found)
        elif path.is_file():
            files.append(path)
        else:
            raise ValueError(f"{path}: no such file or folder")
    return files


def read_paragraphs(files: Iterable[Path]) -> Iterator[str]:
    """Yields the lines that hold text, file by file.

    Raises:
        ValueError: a file is not UTF-8.
    """
    for path in files:
        try:
            with path.open(encoding="utf-8") as stream:
                yield from (line.strip() for line in stream if line.strip())
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}: not UTF-8 ({error}); convert it first") from error


def write_tokens(paragraphs: Iterable[str], path: Path) -> int:
    """Writes each paragraph's tokens as one space-separated line; returns the number of tokens."""
    import spacy

    language = spacy.blank("en")
    count = 0
    waiting = iter(paragraphs)
    with path.open("w", encoding="utf-8") as stream:
        done = False
        while not done:
            with language.memory_zone():  # else the string store grows with the corpus
                done = True
                for _, paragraph in zip(range(PARAGRAPHS_PER_ZONE), waiting, strict=False):
                    done = False
                    tokens = [t.text for t in language.tokenizer(paragraph) if not t.is_space]
                    stream.write(" ".join(tokens) + "\n")
                    count += len(tokens)
    return count


def train_skip_gram(
    token_lines: Path, config: SkipGramConfig
) -> tuple[list[str], NDArray[np.float32]]:
    """Returns the words by descending frequency and their vectors, float32 [V, E], scaled.

    Args:
        token_lines: space-separated tokens, one paragraph a line.
    """
    from gensim.models import Word2Vec
    from gensim.models.word2vec import LineSentence

    model = Word2Vec(
        LineSentence(str(token_lines)),
        vector_size=config.size,
        window=config.window,
        min_count=config.min_count,
        max_final_vocab=config.max_words,
        sg=1,
        negative=config.negative,
        sample=config.subsample,
        epochs=config.epochs,
        seed=config.seed,
        workers=1,
    )
    vectors = np.asarray(model.wv.vectors, dtype=np.float32)
    scaled = vectors * (config.rms / np.sqrt(np.mean(np.square(vectors))))
    return list(model.wv.index_to_key), scaled.astype(np.float32)


def write_vectors(
    folder: Path, words: list[str], vectors: NDArray[np.float32], facts: dict[str, Any]
) -> None:
    """Writes ``vectors.safetensors`` (float16), ``words.json`` and the facts of their training."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file({"vectors": vectors.astype(np.float16)}, folder / VECTORS_FILE)
    (folder / WORDS_FILE).write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8")
    facts = {**facts, "sha256": sha256_of_file(folder / VECTORS_FILE)}
    (folder / FACTS_FILE).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def train_word_vectors(paths: Sequence[Path], folder: Path, config: SkipGramConfig) -> None:
    """Tokenises the text, trains on it and writes the vectors into ``folder``."""
    import gensim

    started = time.perf_counter()
    files = text_files(paths)
    with tempfile.TemporaryDirectory() as scratch:
        token_lines = Path(scratch) / "tokens.txt"
        num_tokens = write_tokens(read_paragraphs(files), token_lines)
        logger.info("%d files, %d tokens", len(files), num_tokens)
        words, vectors = train_skip_gram(token_lines, config)
    facts = {
        "config": asdict(config),
        "files": len(files),
        "tokens": num_tokens,
        "words": len(words),
        "gensim": gensim.__version__,
        "seconds": round(time.perf_counter() - started, 1),
    }
    write_vectors(folder, words, vectors, facts)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; see the module's docstring."""
    defaults = SkipGramConfig()
    parser = argparse.ArgumentParser(description="Train skip-gram word vectors on plain text.")
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="files or folders")
    parser.add_argument("--out", type=Path, required=True, help="folder for the vectors")
    parser.add_argument("--size", type=int, default=defaults.size)
    parser.add_argument("--max-words", type=int, default=defaults.max_words)
    parser.add_argument("--min-count", type=int, default=defaults.min_count)
    parser.add_argument("--epochs", type=int, default=defaults.epochs)
    parser.add_argument("--seed", type=int, default=defaults.seed)
    given = vars(parser.parse_args(arguments))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logging.getLogger("gensim").setLevel(logging.WARNING)  # reports every second otherwise
    paths, folder = given.pop("text"), given.pop("out")
    try:
        train_word_vectors(paths, folder, SkipGramConfig(**given))
    except ValueError as error:
        raise SystemExit(f"error: {error}") from error


if __name__ == "__main__":
    main()
