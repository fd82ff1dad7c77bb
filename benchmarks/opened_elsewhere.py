"""One encoder in four hands: Treeviews, sentence-transformers, model2vec and MTEB.

    python -m benchmarks.opened_elsewhere [ENCODER] [--data SENTEVAL] [--text FILE] [--quick]

Exports an encoder of words for the other libraries, opens it there, and compares vectors of the
same sentences. With SentEval's data it is also scored on graded pairs: by our engine, by MTEB, and
as sentence-transformers opened it, by MTEB. The last line is JSON.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import models
from benchmarks.encode import SENTENCES, distinct_sentences
from benchmarks.quick import parse_arguments
from benchmarks.report import (
    LackingError,
    Table,
    fail,
    header,
    print_last_line,
    print_table,
    tell,
)
from benchmarks.stopwatch import Spent, Stopwatch
from models.encoding.encoder_interface import FloatArray
from models.evaluate_tasks import execute
from models.evaluation.task_result import TaskResult, read_results
from models.exchange.export import export_model
from models.exchange.export_options import ExportOptions
from models.mteb.library import import_mteb, offline
from models.mteb.mteb_model import mteb_model
from models.mteb.senteval import MTEB_TASK_OF, write_mteb_data
from models.mteb.tasks import load_mteb_task
from pipeline.base.bundled import how_to_install

QUICK = {"sentences": 10_000}
DEFAULT_TEXT = "Python's documentation, as in the default run"
EQUAL = 1e-6
"""By how much a component may differ in vectors that count as equal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the comparison; returns 0, or what `fail` says of what went wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse_arguments(_parser(), given, QUICK)
    try:
        sentences = distinct_sentences(options.text, options.sentences)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            opened = _opened_elsewhere(options.encoder, folder / "exported")
            text = f"{len(sentences):,} sentences of {options.text or DEFAULT_TEXT}"
            vectors, figures = _compared(options.encoder, opened, sentences)
            run = header(
                "benchmarks.opened_elsewhere", given, text=text, seed=0, quick=options.quick
            )
            print_table(vectors, run)
            if options.data is not None:
                scores, found = _scored(options.encoder, opened, options.data, folder)
                print_table(scores, run)
                figures |= found
    except (OSError, ValueError) as error:
        return fail(error)
    print_last_line(figures)
    return 0


def _opened_elsewhere(encoder: str, out: Path) -> dict[str, Any]:
    """Returns the encoder as each library opens it, by the library's name.

    Raises:
        ValueError: the encoder is none of words alone, or neither library is installed.
    """
    export_model(encoder, out, ExportOptions(format="sentence-transformers"))
    opened: dict[str, Any] = {}
    try:
        from sentence_transformers import SentenceTransformer

        opened["sentence-transformers"] = SentenceTransformer(str(out), device="cpu")
    except ModuleNotFoundError:
        tell("sentence-transformers is not installed: left out")
    try:
        from model2vec import StaticModel

        opened["model2vec"] = StaticModel.from_pretrained(str(out))
    except ModuleNotFoundError:
        tell("model2vec is not installed: left out")
    if not opened:
        raise LackingError(
            "neither sentence-transformers nor model2vec is here to compare with: "
            f"{how_to_install('sentence-transformers')}"
        )
    return opened


def _compared(
    encoder: str, opened: dict[str, Any], sentences: Sequence[str]
) -> tuple[Table, dict[str, float]]:
    tell(f"encoding: {encoder}")
    ours, spent = _timed(models.load(encoder).encode, sentences)
    rows = [["treeviews", "", "", *_rates(sentences, spent)]]
    figures: dict[str, float] = {"sentences": len(sentences)}
    for name, other in opened.items():
        tell(f"encoding: {encoder} in {name}")
        theirs, spent = _timed(other.encode, sentences)
        apart = np.abs(ours - theirs).max(axis=1)
        equal = int((apart <= EQUAL).sum())
        same = (f"{equal:,}", f"{float(apart.max()):.1e}")
        rows.append([name, *same, *_rates(sentences, spent)])
        slug = name.replace("-", "_")
        figures[f"{slug}_equal_vectors"] = equal / len(sentences)
        figures[f"{slug}_largest_difference"] = float(apart.max())
    same = (f"equal to {EQUAL:.0e}", "largest difference")
    columns = ("opened by", *same, "sentences/s", "sentences/CPU s")
    notes = ["all threads that the library takes by itself; on the clock, and by their CPU time"]
    return Table(f"Vectors of {encoder}", columns, rows, notes), figures


def _timed(encode: Callable[..., Any], sentences: Sequence[str]) -> tuple[FloatArray, Spent]:
    watch = Stopwatch()
    vectors: FloatArray = np.asarray(encode(list(sentences)), dtype=np.float32)
    return vectors, watch.read()


def _rates(sentences: Sequence[str], spent: Spent) -> tuple[str, str]:
    wall, cpu = (len(sentences) / max(seconds, 1e-9) for seconds in (spent.wall, spent.cpu))
    return f"{wall:,.0f}", f"{cpu:,.0f}"


def _scored(
    encoder: str, opened: dict[str, Any], data: Path, folder: Path
) -> tuple[Table, dict[str, float]]:
    """Returns Spearman's correlation x 100 over all pairs of each set, by who opened and scored."""
    counts = write_mteb_data(data, folder / "mteb")
    tasks = [name for name, other in MTEB_TASK_OF.items() if other in counts]
    job = {"encoder": encoder, "tasks": tasks, "data": str(data), "out": str(folder / "ours")}
    execute(job, lambda fraction, status: None)
    ours = read_results(folder / "ours")
    contestants = {"MTEB": mteb_model(encoder)}
    if "sentence-transformers" in opened:
        contestants["sentence-transformers, by MTEB"] = opened["sentence-transformers"]
    rows, largest = [], 0.0
    for name in tasks:
        tell(f"scoring: {name}")
        result = ours[name]
        assert isinstance(result, TaskResult), name
        own = result.scores["spearman_all"].value
        others = [_by_mteb(model, MTEB_TASK_OF[name], folder) for model in contestants.values()]
        largest = max([largest, *(abs(own - other) for other in others)])
        pairs = f"{counts[MTEB_TASK_OF[name]]:,}"
        rows.append([name, pairs, f"{own:.6f}", *(f"{other:.6f}" for other in others)])
    notes = ["spearman_all of ours, cosine_spearman of MTEB's, both times 100; the same pairs"]
    columns = ("set", "pairs", "ours", *contestants)
    table = Table(f"{encoder} on graded pairs", columns, rows, notes)
    return table, {"sets": len(tasks), "largest_difference_of_scores": largest}


def _by_mteb(model: Any, task: str, folder: Path) -> float:
    with offline() as temporary:
        loaded = load_mteb_task(task, folder / "mteb", temporary)
        found = import_mteb().evaluate(
            model, loaded.task, cache=None, co2_tracker=False, show_progress_bar=False
        )
        return 100.0 * float(found.task_results[0].get_score())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.opened_elsewhere",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("encoder", nargs="?", default="english", help="of words alone; default: english")
    add("--data", type=Path, help="SentEval's data folder; without it vectors alone are compared")
    add("--text", type=Path, help="UTF-8, a sentence a line; default: the default run's sentences")
    add("--sentences", type=int, default=SENTENCES, help=f"at most so many; default: {SENTENCES}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
