"""Projects how long parsing a large corpus takes, from measured rates.

``python -m benchmarks.projection --dep-rate 900 --const-rate 900`` prints a table for corpora of
40 M and 1 B sentences on 1, 8 and 64 machines. Shards have the sizes the sentence stage gives them,
and jobs the ranges of them that the engine hands out. Jobs go, in order, each to the core that is
free first; each is a process that loads its parser and parses alone on its core. Each shard costs
the orchestrator a constant time, which is counted in full as if nothing ran beside it. Before, one
core reads the text through to find its parts, and all cores split these. Text that is compressed as
a whole, which each job reads from the beginning, takes longer than this says.
"""

from __future__ import annotations

import argparse
import heapq
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.report import Table, fail, header, print_last_line, print_table
from pipeline.shards.manifests import MOST_RANGES, most_jobs, shard_ranges
from pipeline.shards.shards import rows_in_shard
from pipeline.sources.plan import BYTES_PER_ROW

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class MeasuredCosts:
    """What was measured, on one core of one machine."""

    rates: tuple[float, float]
    """Sentences a second and core of the dependency and the constituency parser."""
    core_efficiency: float
    """Rate of a core whose neighbours parse, too, relative to one that works alone."""
    start_seconds: float
    """Until a job's process has loaded its parser."""
    orchestration_seconds: float
    """Wall time a shard that scheduling costs beyond its job."""
    bytes_per_sentence: float
    """On disk, of all stages together."""
    split_rate: float
    """Sentences a second and core that are split."""
    survey_bytes_per_second: float
    """Of text, until its checksum and its parts are known: one core."""


@dataclass(frozen=True, slots=True)
class Projection:
    """Both parses of one corpus on one set of machines."""

    num_sentences: int
    num_machines: int
    num_shards: int
    """Of one stage; both stages have as many."""
    seconds: float
    """Until the last shard stands, orchestration included."""
    split_seconds: float
    """Of these, until all sentences are split."""
    orchestration_seconds: float
    busy_share: float
    """Of the cores' time until then that parses; the rest loads, waits for the last, or idles."""
    num_bytes: float


def shard_rows(num_sentences: int, *, max_rows: int | None = None) -> list[int]:
    """Returns the rows of each shard of a corpus.

    Args:
        max_rows: the size up to which shards grow; by default the sentence stage's.
    """
    rows: list[int] = []
    limit = {} if max_rows is None else {"max_rows": max_rows}
    left = num_sentences
    while left > 0:
        rows.append(min(left, rows_in_shard(len(rows), **limit)))
        left -= rows[-1]
    return rows


def makespan(durations: Iterable[float], num_cores: int) -> float:
    """Returns when the last job ends if each in turn goes to the core that is free first."""
    free = [0.0] * num_cores
    for duration in durations:
        heapq.heapreplace(free, free[0] + duration)
    return max(free)


def project(
    num_sentences: int,
    num_machines: int,
    num_cores: int,
    costs: MeasuredCosts,
    *,
    engine: str = "ray",
    max_rows: int | None = None,
) -> Projection:
    """Returns what parsing a corpus both ways takes.

    Args:
        num_cores: of each machine.
        engine: ``ray``, or ``luigi`` on machines that share a folder.
        max_rows: see `shard_rows`.
    """
    shards = shard_rows(num_sentences, max_rows=max_rows)
    cores = num_cores * num_machines
    most = most_jobs(cores) if engine == "ray" else MOST_RANGES
    jobs = [sum(shards[n : n + count]) for n, count in shard_ranges(len(shards), most)]
    rates = [rate * costs.core_efficiency for rate in costs.rates]
    parsing = [rows / rate for rate in rates for rows in jobs]
    orchestration = costs.orchestration_seconds * len(rates) * len(shards)
    split_rate = costs.split_rate * costs.core_efficiency
    survey = num_sentences * BYTES_PER_ROW / costs.survey_bytes_per_second
    split = survey + makespan((rows / split_rate for rows in jobs), cores)
    parse = makespan((costs.start_seconds + one for one in parsing), cores)
    seconds = split + parse + orchestration
    return Projection(
        num_sentences=num_sentences,
        num_machines=num_machines,
        num_shards=len(shards),
        seconds=seconds,
        split_seconds=split,
        orchestration_seconds=orchestration,
        busy_share=sum(parsing) / (cores * seconds),
        num_bytes=costs.bytes_per_sentence * num_sentences,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; returns 0, or what `fail` says of what went wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(given)
    costs = MeasuredCosts(
        rates=(options.dep_rate, options.const_rate),
        core_efficiency=options.core_efficiency,
        start_seconds=options.start_seconds,
        orchestration_seconds=options.orchestration_seconds,
        bytes_per_sentence=options.bytes_per_sentence,
        split_rate=options.split_rate,
        survey_bytes_per_second=options.survey_megabytes * 1e6,
    )
    try:
        _check(options)
    except ValueError as error:
        return fail(error)
    found = [
        project(
            sentences,
            machines,
            options.cores,
            costs,
            engine=options.engine,
            max_rows=options.max_rows,
        )
        for sentences in options.sentences
        for machines in options.machines
    ]
    text = "none: a projection from the rates in the command"
    run = header("benchmarks.projection", given, text=text, seed=0)
    print_table(projection_table(found, options.cores, costs), run)
    hours = {
        f"hours_{one.num_sentences}_on_{one.num_machines}": round(one.seconds / 3600, 2)
        for one in found
    }
    print_last_line(hours)
    return 0


def projection_table(found: Sequence[Projection], cores: int, costs: MeasuredCosts) -> Table:
    """Returns a row for each corpus and number of machines."""
    columns = (
        *("sentences (M)", "machines", "hours", "of these splitting", "orchestration (%)"),
        *("cores parse (%)", "shards a stage", "size (GiB)"),
    )
    rows = [
        (
            f"{one.num_sentences / 1e6:,.0f}",
            f"{one.num_machines}",
            f"{one.seconds / 3600:.2f}",
            f"{one.split_seconds / 3600:.2f}",
            f"{100 * one.orchestration_seconds / one.seconds:.2f}",
            f"{100 * one.busy_share:.0f}",
            f"{one.num_shards}",
            f"{one.num_bytes / GIB:.1f}",
        )
        for one in found
    ]
    dependency, constituency = costs.rates
    notes = [
        f"{cores} cores a machine; {dependency:.0f} and {constituency:.0f} sentences a second and "
        f"core (dependencies, constituents), times {costs.core_efficiency:.2f} as the other cores "
        "parse, too",
        f"a job takes {costs.start_seconds:.1f} s to load its parser and the orchestrator "
        f"{1000 * costs.orchestration_seconds:.0f} ms; {costs.bytes_per_sentence:.0f} bytes a "
        "sentence in all stages",
        "hours: until the last shard of both parses stands, from the text on",
        f"splitting: {costs.survey_bytes_per_second / 1e6:.0f} MB/s of text on one core until its "
        f"parts are known, at {BYTES_PER_ROW} bytes a sentence, then {costs.split_rate:,.0f} "
        "sentences a second and core",
        "cores parse: the rest of their time goes into loading, or waits since there are fewer "
        "jobs than cores or the last ones still run",
    ]
    return Table("Parsing a large corpus, projected", columns, rows, notes)


def _check(options: argparse.Namespace) -> None:
    """Raises:
    ValueError: a number that cannot be.
    """
    above_zero = ("dep_rate", "const_rate", "split_rate", "survey_megabytes", "core_efficiency")
    for name in (*above_zero, "cores", "max_rows"):
        if getattr(options, name) is not None and getattr(options, name) <= 0:
            raise ValueError(f"--{name.replace('_', '-')} must be above 0")
    for name in ("sentences", "machines"):
        if min(getattr(options, name)) < 1:
            raise ValueError(f"--{name} must be at least 1")
    for name in ("start_seconds", "orchestration_seconds", "bytes_per_sentence"):
        if getattr(options, name) < 0:
            raise ValueError(f"--{name.replace('_', '-')} must be at least 0")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.projection", description=(__doc__ or "").partition("\n")[0]
    )
    add = parser.add_argument
    add("--dep-rate", type=float, required=True, help="sentences a second and core")
    add("--const-rate", type=float, required=True, help="sentences a second and core")
    add("--split-rate", type=float, required=True, help="sentences a second and core")
    add("--survey-megabytes", type=float, default=200.0, help="of text a second; one core")
    add("--core-efficiency", type=float, default=1.0, help="two_processes_vs_one / 2")
    add("--start-seconds", type=float, default=7.0, help="of a job, until its parser is loaded")
    add("--orchestration-seconds", type=float, default=0.006, help="a shard; overhead / shards")
    add("--bytes-per-sentence", type=float, default=133.0, help="of all stages")
    add("--cores", type=int, default=16, help="of a machine")
    add("--machines", type=int, nargs="+", default=[1, 8, 64])
    add("--sentences", type=int, nargs="+", default=[40_000_000, 1_000_000_000])
    add("--engine", choices=("ray", "luigi"), default="ray", help="what hands out the jobs")
    add("--max-rows", type=int, help="of a shard; by default what the sentence stage writes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
