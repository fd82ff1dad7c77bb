"""Measures what parsed shards cost on disk and how fast they are read.

``python -m benchmarks.shards`` reads a parsed corpus in one thread. The last line it prints is one
JSON object.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.corpus import STAGES, corpus_folders, identity
from benchmarks.harness import Benchmark, Measured, Table, check_least, tell
from treeviews.pipeline.shards.manifests import quarantine_path, read_dataset_manifest, shard_path
from treeviews.pipeline.shards.shards import read_shard

PARSED = STAGES[1:]


@dataclass(frozen=True, slots=True)
class StageSize:
    """What a stage takes on disk."""

    rows: int
    bytes: int
    """Of rows, manifests and quarantine."""
    column_bytes: dict[str, int]
    """Of the rows, packed, by column."""


QUICK = {"rounds": 3}


def _measure(options: argparse.Namespace) -> Measured:
    check_least(options, rounds=1)
    folders = corpus_folders(options.corpus)
    dependencies = folders.dependencies
    assert dependencies is not None  # corpus_folders finds all stages or says what is missing
    pa.set_cpu_count(1)
    sizes = {stage: stage_size(getattr(folders, stage), stage) for stage in STAGES}
    seconds = _best_seconds(lambda: read_heads(dependencies), options.rounds)
    figures = {
        "bytes_per_sentence": round(sum(_per_row(sizes[stage]) for stage in PARSED), 1),
        "text_bytes_per_sentence": round(_per_row(sizes["sentences"]), 1),
        "heads_rows_per_second": round(sizes["dependencies"].rows / seconds),
    }
    return Measured(
        [_size_table(sizes), _rate_table(figures, options.rounds)],
        {**figures, "rows": sizes["sentences"].rows, **identity(folders)},
        corpus=folders,
    )


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--corpus",
        type=Path,
        help="folder with sentences/, dependencies-*/ and constituents-*/ in it; by default the "
        "newest of python-docs",
    )
    parser.add_argument("--rounds", type=int, default=5, help="of each measurement; default: 5")


def stage_size(folder: Path, stage: str) -> StageSize:
    """Returns what a complete stage takes on disk."""
    manifest = read_dataset_manifest(folder, stage)
    size = 0
    columns: Counter[str] = Counter()
    for shard in manifest.shards:
        path = shard_path(folder, shard.number)
        files = [path, path.with_suffix(".json"), quarantine_path(folder, shard.number)]
        size += sum(file.stat().st_size for file in files if file.exists())
        metadata = pq.read_metadata(path)
        for group in range(metadata.num_row_groups):
            for number in range(metadata.num_columns):
                chunk = metadata.row_group(group).column(number)
                name = chunk.path_in_schema.partition(".")[0]
                columns[name] += chunk.total_compressed_size
    return StageSize(manifest.rows, size, dict(columns))


def read_heads(folder: Path) -> int:
    """Reads the heads of a stage as training does, into offsets and values; returns how many."""
    count = 0
    for shard in read_dataset_manifest(folder, "dependencies").shards:
        heads = read_shard(folder, "dependencies", shard.number, ["heads"])["heads"]
        for chunk in heads.chunks:
            offsets, values = np.asarray(chunk.offsets), np.asarray(chunk.flatten())
            count += int(offsets[-1] - offsets[0]) if len(values) else 0
    return count


def _best_seconds(measured: Callable[[], object], rounds: int) -> float:
    """Returns the process time of the fastest of several rounds."""
    seconds = []
    for number in range(rounds):
        tell(f"reading heads: round {number + 1} of {rounds}")
        started = time.process_time()
        measured()
        seconds.append(time.process_time() - started)
    return max(min(seconds), 1e-9)


def _per_row(size: StageSize) -> float:
    return size.bytes / max(size.rows, 1)


def _size_table(sizes: dict[str, StageSize]) -> Table:
    rows = []
    for stage, size in sizes.items():
        rows.append([stage, "all files", f"{size.bytes:,}", f"{_per_row(size):.1f}"])
        for name, number in size.column_bytes.items():
            rows.append([stage, name, f"{number:,}", f"{number / max(size.rows, 1):.1f}"])
    return Table(
        "Bytes of parsed shards",
        ["stage", "column", "bytes", "a sentence"],
        rows,
        ["all files: rows, manifests and quarantine; columns: as packed in the Parquet files"],
    )


def _rate_table(figures: dict[str, float], rounds: int) -> Table:
    rows = [["heads into offsets and values", f"{figures['heads_rows_per_second']:,}"]]
    note = f"process time of one thread, the best of {rounds} rounds; files in the system's cache"
    return Table("Reading parsed shards", ["what", "sentences/s"], rows, [note])


main = Benchmark("benchmarks.shards", __doc__ or "", _add_options, _measure, QUICK)

if __name__ == "__main__":
    sys.exit(main())
