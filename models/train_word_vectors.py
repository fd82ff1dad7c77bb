"""Trains word vectors on a corpus: ``python -m treeviews.models.train_word_vectors JOB.json``.

JOB.json holds a `WordVectorJob`. The tokens are those of the shards, so that nothing is tokenized
twice and a word of the corpus is a word of the vectors. Held-out sentences are left out: held-out
accuracy and probing then speak of text that no part of a model has seen.

Differs from the vectors that ship in that a window ends with its sentence, not its paragraph.
Needs gensim, which only this file imports (``pip install gensim``). One thread: gensim's workers
race, and the same tokens have to give the same file.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa

from treeviews.models.config.held_out import HELD_OUT_REMEDY, HoldOut
from treeviews.pipeline.base.bundled import how_to_install
from treeviews.pipeline.base.job import Progress, run_from_command_line
from treeviews.pipeline.base.settings import Count, Natural, Positive, Settings, at_least
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.vectors.vector_folder import write_vectors

_COLUMNS = ("document_id", "sentence_index", "tokens")


class SkipGramConfig(Settings):
    """Settings of skip-gram with negative sampling (Mikolov et al. 2013)."""

    called: ClassVar[str] = "word vector setting"

    size: Count = 100
    """Dimensions of a vector."""
    max_words: Count = 30_000
    """The most frequent words are kept; at 100 half-precision dimensions that is 6 MB."""
    min_count: Count = 5
    lower_case: bool = False
    """Whether words lose their case. A reader looks a token up as it stands and then lower-cased,
    so that it finds either kind."""
    window: Count = 5
    negative: Count = 8
    """Negative samples a pair; small corpora want 5 to 20 (Mikolov et al. 2013, section 2.2)."""
    subsample: Annotated[float, at_least(0)] = 1e-4
    """Frequent words above this share of the text are thinned out."""
    epochs: Count = 8
    rms: Positive = 0.35
    """Root mean square of a component after scaling; tree encoders do not train at 1.0."""
    seed: Natural = 0


class WordVectorJob(Settings):
    """What is trained on what, and where the result goes."""

    called: ClassVar[str] = "word vector job field"

    sentences: Path
    """Folder of the sentence shards."""
    hold_out: HoldOut
    config: SkipGramConfig
    out: Path
    """Folder of the vectors."""


def execute(job: WordVectorJob, progress: Progress) -> None:
    """Trains as a job says.

    Raises:
        ValueError: the text is too little.
        ModuleNotFoundError: gensim is not installed.
    """
    imported_gensim()  # before the text is read
    config, hold_out = job.config, job.hold_out
    progress(0.0, "reading the sentences")
    sentences = TrainingSentences(job.sentences, hold_out, lower_case=config.lower_case)
    num_sentences = num_tokens = 0
    for tokens in sentences:
        num_sentences += 1
        num_tokens += len(tokens)
    if not num_sentences:
        raise ValueError(
            f"{job.sentences}: no sentences, or all of them are held out; {HELD_OUT_REMEDY}"
        )
    train_on_tokens(
        sentences,
        job.out,
        config,
        {"sentences": num_sentences, "tokens": num_tokens, "hold_out": hold_out.to_dict()},
        on_epoch=lambda done: progress(
            done / config.epochs, f"{done} of {config.epochs} passes over {num_tokens:,} tokens"
        ),
    )


class TrainingSentences:
    """The tokens of the sentences that are not held out, as often as they are asked for.

    Raises:
        FileNotFoundError: the sentence stage is not complete.
        ValueError: a shard is broken; names it.
    """

    def __init__(self, folder: Path, hold_out: HoldOut, *, lower_case: bool = False) -> None:
        self._folder, self._hold_out, self._lower_case = folder, hold_out, lower_case
        self._num_shards = len(read_dataset_manifest(folder, "sentences").shards)

    def __iter__(self) -> Iterator[list[str]]:
        for number in range(self._num_shards):
            table = read_shard(self._folder, "sentences", number, _COLUMNS)
            training = table.filter(pa.array(~self._hold_out.mask(table)))
            for tokens in training["tokens"].to_pylist():
                yield [token.lower() for token in tokens] if self._lower_case else tokens


def train_on_tokens(
    sentences: Iterable[list[str]],
    folder: Path,
    config: SkipGramConfig,
    facts: Mapping[str, Any],
    *,
    on_epoch: Callable[[int], None] = lambda done: None,
) -> None:
    """Trains on tokens and writes the vectors of the most frequent words, the facts last.

    Args:
        sentences: their tokens, as often as they are asked for; no window is wider than a sentence.
        facts: what is known of the text; how the vectors were trained is added.
        on_epoch: is told how many passes are done, after each.

    Raises:
        ValueError: no word occurs often enough.
        ModuleNotFoundError: gensim is not installed.
    """
    gensim, started = imported_gensim(), time.perf_counter()
    done, callback = itertools.count(1), gensim.models.callbacks.CallbackAny2Vec()
    callback.on_epoch_end = lambda model: on_epoch(next(done))
    model = gensim.models.word2vec.Word2Vec(
        vector_size=config.size,
        window=config.window,
        min_count=config.min_count,
        max_final_vocab=config.max_words,
        sg=1,
        negative=config.negative,
        sample=config.subsample,
        seed=config.seed,
        workers=1,
    )
    model.build_vocab(sentences)
    if not len(model.wv):
        raise ValueError(
            f"no word occurs {config.min_count} times; give more text or lower min_count"
        )
    model.train(
        sentences,
        total_examples=model.corpus_count,
        epochs=config.epochs,
        callbacks=[callback],
    )
    vectors = np.asarray(model.wv.vectors, dtype=np.float32)
    scaled = vectors * (config.rms / np.sqrt(np.mean(np.square(vectors))))
    words = list(model.wv.index_to_key)
    counts = np.array([model.wv.get_vecattr(word, "count") for word in words], dtype=np.int64)
    how = {
        "config": config.to_dict(),
        **facts,
        "words": len(words),
        "gensim": gensim.__version__,
        "seconds": round(time.perf_counter() - started, 1),
    }
    write_vectors(folder, words, scaled.astype(np.float32), how, counts=counts)


def imported_gensim() -> ModuleType:
    """Returns gensim, with the module that trains.

    Raises:
        ModuleNotFoundError: it is not installed; names the remedies.
    """
    try:
        import gensim.models.word2vec
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"word vectors are trained by gensim, which cannot be imported ({error}): "
            f"{how_to_install('vectors')}, or give word vectors that are there (--vectors)"
        ) from error
    module: ModuleType = gensim
    return module


def gensim_version() -> str | None:
    """Returns the release of gensim, which is not imported; None where it is not installed."""
    with suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version("gensim")
    return None


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute, kind=WordVectorJob))
