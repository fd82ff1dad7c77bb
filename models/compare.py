"""Command line: ``python -m models.compare A B`` compares two encoders by their task results.

A and B are folders with one result file a task, as the evaluation writes them; the folders of
several seeds of one encoder are joined by commas.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from models.command_line import told
from models.evaluation.comparison import TESTS, ComparisonConfig, compare
from models.evaluation.statistics.resampling import CONFIDENCE, NUM_RESAMPLES, Resampling
from models.evaluation.statistics.significance import CORRECTIONS
from models.evaluation.task_result import Result, read_results
from models.report.comparison_table import comparison_table
from pipeline.base.atomic_files import write_json_atomically


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the comparison; returns 0, or 2 for a user's mistake."""
    arguments = _parser().parse_args(argv)
    try:
        config = ComparisonConfig(
            arguments.test,
            arguments.correction,
            arguments.all_scores,
            Resampling(arguments.resamples, arguments.confidence, arguments.seed),
        )
        found = compare(
            _read_side(arguments.first, arguments.tasks),
            _read_side(arguments.second, arguments.tasks),
            config,
        )
        if arguments.json is not None:
            content = {"format": "treeviews comparison", "format_version": 1, **asdict(found)}
            write_json_atomically(arguments.json, content)
    except (ValueError, OSError) as error:
        return told(error)
    print(comparison_table(found))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models.compare", description=__doc__)
    folders = "folder of task results; those of several seeds joined by commas"
    parser.add_argument("first", metavar="A", help=folders)
    parser.add_argument("second", metavar="B", help=folders)
    parser.add_argument("--test", choices=TESTS, default="permutation", help="default: permutation")
    parser.add_argument(
        "--correction", choices=CORRECTIONS, default="holm", help="over tasks; default: holm"
    )
    parser.add_argument("--tasks", metavar="NAMES", help="comma separated; default: all")
    parser.add_argument(
        "--all-scores", action="store_true", help="every score, not only each task's main one"
    )
    parser.add_argument(
        "--resamples", type=int, default=NUM_RESAMPLES, help=f"default: {NUM_RESAMPLES}"
    )
    parser.add_argument(
        "--confidence", type=float, default=CONFIDENCE, help=f"default: {CONFIDENCE}"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the resampling; default: 0")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the figures there, too")
    return parser


def _read_side(folders: str, tasks: str | None) -> list[Mapping[str, Result]]:
    return [_chosen(Path(folder), tasks) for folder in folders.split(",")]


def _chosen(folder: Path, tasks: str | None) -> Mapping[str, Result]:
    results = read_results(folder)
    if tasks is None:
        return results
    wanted = [name.strip() for name in tasks.split(",")]
    missing = [name for name in wanted if name not in results]
    if missing:
        raise ValueError(
            f"{folder}: no result of {', '.join(missing)}; it has {', '.join(results)}"
        )
    return {name: results[name] for name in wanted}


if __name__ == "__main__":
    sys.exit(main())
