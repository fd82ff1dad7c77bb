"""Trains word vectors on a corpus: ``python -m treeviews.models.train_word_vectors JOB.json``.

JOB.json holds a `WordVectorJob`. The tokens are those of the shards, so that nothing is tokenized
twice and a word of the corpus is a word of the vectors. Held-out sentences are left out: held-out
accuracy and probing then speak of text that no part of a model has seen.

Differs from the vectors that ship in that a window ends with its sentence, not its paragraph.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from treeviews.models.config.held_out import LESS_HELD_OUT, HoldOut
from treeviews.pipeline.base.atomic_files import TEMPORARY_SUFFIX
from treeviews.pipeline.base.job import Progress, run_job_from_command_line
from treeviews.pipeline.base.settings import Settings
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.vectors.skip_gram import SkipGramConfig, imported_gensim, train_on_tokens

_COLUMNS = ("document_id", "sentence_index", "tokens")


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
    token_lines = job.out / f"tokens{TEMPORARY_SUFFIX}"
    try:
        progress(0.0, "reading the sentences")
        num_sentences, num_tokens = write_training_tokens(job.sentences, hold_out, token_lines)
        if not num_tokens:
            raise ValueError(_why_no_tokens(job.sentences, hold_out))
        train_on_tokens(
            token_lines,
            job.out,
            config,
            {"sentences": num_sentences, "tokens": num_tokens, "hold_out": hold_out.to_dict()},
            on_epoch=lambda done: progress(
                done / config.epochs, f"{done} of {config.epochs} passes over {num_tokens:,} tokens"
            ),
        )
    finally:
        token_lines.unlink(missing_ok=True)


def write_training_tokens(sentences: Path, hold_out: HoldOut, path: Path) -> tuple[int, int]:
    """Writes the sentences that are not held out, one a line, tokens separated by spaces.

    Returns:
        The number of sentences and of tokens written.

    Raises:
        FileNotFoundError: the sentence stage is not complete.
        ValueError: a shard is broken; names it.
    """
    num_sentences = num_tokens = 0
    with path.open("w", encoding="utf-8") as stream:
        for number in range(len(read_dataset_manifest(sentences, "sentences").shards)):
            tokens = _training_tokens(
                read_shard(sentences, "sentences", number, _COLUMNS), hold_out
            )
            stream.writelines(f"{line}\n" for line in pc.binary_join(tokens, " ").to_pylist())
            num_sentences += len(tokens)
            num_tokens += pc.sum(pc.list_value_length(tokens)).as_py() or 0
    return num_sentences, num_tokens


def _why_no_tokens(sentences: Path, hold_out: HoldOut) -> str:
    if not read_dataset_manifest(sentences, "sentences").rows:
        return f"{sentences}: no sentences; give text that has some"
    return f"{sentences}: all sentences are held out; {LESS_HELD_OUT}"


def _training_tokens(table: pa.Table, hold_out: HoldOut) -> pa.ChunkedArray:
    documents = table["document_id"].cast(pa.string()).combine_chunks().dictionary_encode()
    held_out = hold_out.mask(
        documents.dictionary.to_pylist(),
        documents.indices.to_numpy(),
        table["sentence_index"].to_numpy(),
    )
    # The join knows no lists whose items are declared to be there.
    return table.filter(pa.array(~held_out))["tokens"].cast(pa.list_(pa.string()))


if __name__ == "__main__":
    sys.exit(run_job_from_command_line(WordVectorJob, execute))
