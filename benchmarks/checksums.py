"""Measures what checksums cost a run: writing and reading shards with them, beside without.

``python -m benchmarks.checksums`` copies a parsed corpus, so that its shards are read for the first
time, as each process of a run does once. The last line it prints is one JSON object.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.corpus import STAGES, add_corpus_options, corpus_folders, identity, random_vectors
from benchmarks.quick import parse_arguments
from benchmarks.report import Table, fail, header, print_last_line, print_table, tell
from models.config.views import VIEWS
from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus
from models.words.word_vectors import WordVectors
from pipeline.base.digest import sha256_of_file
from pipeline.shards.manifests import read_dataset_manifest, shard_path, write_dataset_manifest
from pipeline.shards.schema import schema_for
from pipeline.shards.shards import ROW_GROUP_ROWS, packing, read_shard, write_shard


@dataclass(frozen=True, slots=True)
class Cost:
    """Of all shards of a corpus, with checksums and without; seconds of one thread."""

    write: tuple[float, float]
    """Of the rows."""
    read: tuple[float, float]
    """Of all columns; with: each page is checked."""
    sha256: float
    """Of all files, once a process."""
    training: tuple[float, float]
    """Of an epoch's reading; with: the first, without: a later one, whose pages alone are
    checked."""
    bytes: tuple[int, int]
    """Of the rows."""
    num_shards: int
    """Of all stages."""


QUICK = {"rounds": 3}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, or what `fail` says of what went wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse_arguments(_parser(), given, QUICK)
    try:
        if options.rounds < 1:
            raise ValueError(f"--rounds {options.rounds}: at least 1 is needed")
        folders = corpus_folders(options.corpus)
        pa.set_cpu_count(1)
        vectors = random_vectors(folders, options.word_size, options.seed)
        costs = []
        for number in range(options.rounds):
            tell(f"round {number + 1} of {options.rounds}")
            costs.append(_measured(folders, vectors))
    except (FileNotFoundError, ValueError) as error:
        return fail(error)
    parsing = sum(read_dataset_manifest(_folder(folders, s), s).seconds for s in STAGES)
    figures = _figures(costs, parsing)
    print_table(
        _table(figures, options.rounds),
        header(
            *("benchmarks.checksums", given), corpus=folders, seed=options.seed, quick=options.quick
        ),
    )
    print_last_line({**figures, **identity(folders)})
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checksums", description=__doc__)
    add_corpus_options(parser)
    parser.add_argument("--rounds", type=int, default=5, help="of each measurement; default: 5")
    return parser


def _folder(folders: CorpusFolders, stage: str) -> Path:
    folder: Path = getattr(folders, stage)
    return folder


def _measured(folders: CorpusFolders, vectors: WordVectors) -> Cost:
    with tempfile.TemporaryDirectory() as temporary:
        copy = _copied(folders, Path(temporary))
        tables = {
            (stage, shard.number): read_shard(_folder(copy, stage), stage, shard.number)
            for stage in STAGES
            for shard in read_dataset_manifest(_folder(copy, stage), stage).shards
        }
        out = Path(temporary) / "out"
        out.mkdir()
        written = [_seconds(partial(_write, tables, out, checked=c)) for c in (True, False)]
        paths = [[path for path in out.iterdir() if path.suffix == f".{c}"] for c in (True, False)]
        sizes = [sum(path.stat().st_size for path in part) for part in paths]
        read = [_seconds(partial(_read, part, checked=part is paths[0])) for part in paths]
        sha256 = _seconds(lambda: [sha256_of_file(path) for path in paths[0]])
        fresh = _copied(folders, Path(temporary) / "fresh")
        corpus = ParsedCorpus(fresh, vectors, views=VIEWS)
        training = [_seconds(lambda: list(corpus.blocks())) for _ in range(2)]
    return Cost(
        write=(written[0], written[1]),
        read=(read[0], read[1]),
        sha256=sha256,
        training=(training[0], training[1]),
        bytes=(sizes[0], sizes[1]),
        num_shards=len(tables),
    )


def _copied(folders: CorpusFolders, out: Path) -> CorpusFolders:
    """Returns the corpus as this release writes it, elsewhere."""
    for stage in STAGES:
        for shard in read_dataset_manifest(_folder(folders, stage), stage).shards:
            table = read_shard(_folder(folders, stage), stage, shard.number)
            write_shard(out / stage, stage, shard.number, table, drops=shard.drops)
        write_dataset_manifest(out / stage, stage, config={})
    return CorpusFolders(*(out / stage for stage in STAGES))


def _write(tables: dict[tuple[str, int], pa.Table], out: Path, *, checked: bool) -> None:
    for (stage, number), table in tables.items():
        path = out / f"{stage}-{shard_path(Path(), number).stem}.{checked}"
        settings = {**packing(schema_for(stage)), "write_page_checksum": checked}
        with pq.ParquetWriter(path, schema_for(stage), **settings) as writer:
            writer.write_table(table, row_group_size=ROW_GROUP_ROWS)


def _read(paths: Sequence[Path], *, checked: bool) -> None:
    for path in paths:
        with pq.ParquetFile(path, page_checksum_verification=checked) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group)


def _seconds(measured: Callable[[], object]) -> float:
    started = time.process_time()
    measured()
    return time.process_time() - started


def _figures(costs: Sequence[Cost], parsing: float) -> dict[str, float]:
    """Returns the fastest of each and, of the corpus's own making, the share that they add."""
    figures: dict[str, float] = {}
    for name in ("write", "read", "training"):
        pairs = [getattr(cost, name) for cost in costs]
        for place, kind in enumerate(("with", "without")):
            figures[f"{name}_{kind}_seconds"] = round(min(pair[place] for pair in pairs), 4)
    figures["sha256_seconds"] = round(min(cost.sha256 for cost in costs), 4)
    cost = costs[0]
    figures |= {
        "bytes_with": cost.bytes[0],
        "bytes_a_shard": round((cost.bytes[0] - cost.bytes[1]) / max(cost.num_shards, 1), 1),
        "shards": cost.num_shards,
        "corpus_seconds": round(parsing, 1),
    }
    # Parses are read and written once, sentences read by both parsers; all is hashed when written.
    added = figures["sha256_seconds"] * 2 + sum(
        figures[f"{name}_with_seconds"] - figures[f"{name}_without_seconds"]
        for name in ("write", "read", "training")
    )
    return figures | {"added_percent": round(100 * added / max(parsing, 1e-9), 3)}


def _table(figures: dict[str, float], rounds: int) -> Table:
    rows = [
        [
            what,
            f"{figures[f'{name}_with_seconds']:.3f}",
            f"{figures[f'{name}_without_seconds']:.3f}",
        ]
        for name, what in (
            ("write", "writing all shards"),
            ("read", "reading all columns"),
            ("training", "an epoch's reading"),
        )
    ]
    rows.append(["sha256 of all files", f"{figures['sha256_seconds']:.3f}", "0.000"])
    return Table(
        "Seconds with and without checksums",
        ["what", "with", "without"],
        rows,
        [
            f"process time of one thread, the fastest of {rounds} rounds; files in the system's "
            "cache",
            f"{figures['bytes_a_shard']} bytes more a shard, of {figures['shards']} shards with "
            f"{figures['bytes_with']:,} bytes",
            f"all of it is {figures['added_percent']} % of the {figures['corpus_seconds']:,} s in "
            "which the corpus was split and parsed",
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
