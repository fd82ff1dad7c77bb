"""Measures how fast the shards of a corpus become shards of embeddings, beside raw text encoded.

``python -m benchmarks.embedding`` writes sentences as a shard, parses it where an encoder reads
trees, and in one process has each encoder encode the sentences as strings and embed the shard, on
one core. Rates are of the processor's time. The last line it prints is one JSON object.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from benchmarks.encode import (
    add_encoder_options,
    chosen,
    figures_table,
    named_by_encoder,
    text_in_words,
)
from benchmarks.harness import Benchmark, Measured, tell
from treeviews.models.encoding.corpus_embeddings import EmbedShardJob, embed_shard, open_encoder
from treeviews.models.encoding.encoder import Encoder, EncoderSettings
from treeviews.models.encoding.search import FloatArray
from treeviews.models.model.model_description import ParserRecord, find_parser
from treeviews.pipeline.parsers.parser_files import STAGES
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.parsing.parse_shard import ParseJob, parse_shard
from treeviews.pipeline.shards.arrow import vectors_of
from treeviews.pipeline.shards.schema import EMBEDDING, EMBEDDINGS, schema_for
from treeviews.pipeline.shards.shards import ShardWriter, read_shard
from treeviews.pipeline.text.tokenization import EnglishTokenizer

SENTENCES = 20_000
QUICK = {"sentences": 2_000}


def _measure(options: argparse.Namespace) -> Measured:
    torch.set_num_threads(1)
    encoders, sentences = chosen(options)
    with tempfile.TemporaryDirectory() as scratch:
        figures = _figures(Path(scratch), encoders, sentences)
    notes = [
        "embedded: sentences a second of processor time from the shard of tokens (and of trees) to "
        "the shard of vectors, which is written, read again and checked; float32",
        "encoded: from strings to vectors in memory, which are tokenized and parsed for it",
        "vs_encode: the first by the second",
        "differing: the largest difference between the vectors of the two",
    ]
    return Measured(
        [figures_table("A corpus to vectors", figures, notes)],
        {**named_by_encoder(figures), "sentences": len(sentences), "encoders": encoders},
        text=text_in_words(options, sentences),
    )


def _figures(
    folder: Path, encoders: Sequence[str], sentences: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Returns the figures of each encoder."""
    _write_sentences(folder / "sentences", sentences)
    opened = {name: open_encoder(name, EncoderSettings()) for name in encoders}
    parses: dict[str, Path] = {}
    for stage in STAGES:
        checksums = {one.parsers[stage] for one in opened.values() if stage in one.parsers}
        if not checksums:
            continue
        checksum, *others = checksums
        if others:
            raise ValueError(f"these encoders read {stage} of different parsers; name one of them")
        parses[stage] = folder / stage
        tell(f"parsing: {stage}")
        parser = load_parser(
            find_parser(stage, ParserRecord(name=stage, checksum=checksum), None), stage
        )
        parse_shard(
            ParseJob(stage=stage, sentences=folder / "sentences", output=folder / stage, number=0),
            parser,
        )
    found = {}
    for place, (name, encoder) in enumerate(opened.items()):
        tell(f"embedding: {name}")
        job = EmbedShardJob(
            encoder=name,
            sentences=folder / "sentences",
            output=folder / f"embeddings-{place}",
            number=0,
            parses=parses,
        )
        found[name] = _measured(job, encoder, sentences)
    return found


def _write_sentences(folder: Path, sentences: Sequence[str]) -> None:
    rows = [
        {"document_id": "text", "sentence_index": number, "tokens": list(text.words)}
        for number, text in enumerate(EnglishTokenizer().tokenize(list(sentences)))
    ]
    table = pa.Table.from_pylist(rows, schema=schema_for("sentences"))
    with ShardWriter(folder, "sentences", 0) as writer:
        writer.write(table)
        writer.finish(drops={}, quarantine=())


def _measured(job: EmbedShardJob, encoder: Encoder, sentences: Sequence[str]) -> dict[str, float]:
    encoder.encode(sentences[:1])  # loads what it needs
    expected: list[FloatArray] = []
    encoding = _seconds(lambda: expected.append(encoder.encode(sentences)))
    embedding = _seconds(lambda: embed_shard(job, 0, encoder))
    vectors, _ = vectors_of(read_shard(job.output, EMBEDDINGS, 0)[EMBEDDING])
    return {
        "embedded_sentences_per_second": round(len(sentences) / embedding, 1),
        "encoded_sentences_per_second": round(len(sentences) / encoding, 1),
        "vs_encode": round(encoding / embedding, 3),
        "differing": float(np.abs(vectors - expected[0]).max()),
    }


def _seconds(run: Callable[[], object]) -> float:
    """Returns how much processor time a call takes."""
    started = time.process_time()
    run()
    return max(1e-9, time.process_time() - started)


main = Benchmark(
    "benchmarks.embedding",
    __doc__ or "",
    partial(add_encoder_options, most=SENTENCES),
    _measure,
    QUICK,
)

if __name__ == "__main__":
    sys.exit(main())
