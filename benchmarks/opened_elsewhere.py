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
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import models
from benchmarks.encode import QUICK_SENTENCES, SENTENCES, distinct_sentences
from benchmarks.report import Table, fail, header, print_last_line, print_table
from models.encoding.encoder_interface import FloatArray
from models.evaluate_tasks import execute
from models.evaluation.task_result import TaskResult, read_results
from models.exchange.export import export_model
from models.exchange.export_options import ExportOptions
from models.mteb.library import import_mteb, offline
from models.mteb.mteb_model import mteb_model
from models.mteb.senteval import MTEB_TASK_OF, write_mteb_data
from models.mteb.tasks import load_mteb_task

DEFAULT_TEXT = "Python's documentation, as in the default run"
EQUAL = 1e-6
"""By how much a component may differ in vectors that count as equal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the comparison; returns 0, or 2 for a user's mistake."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(given)
    try:
        wanted = QUICK_SENTENCES if options.quick else SENTENCES
        sentences = distinct_sentences(options.text, wanted)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            opened = _opened_elsewhere(options.encoder, folder / "exported")
            text = f"{len(sentences):,} sentences of {options.text or DEFAULT_TEXT}"
            vectors, figures = _compared(options.encoder, opened, sentences)
            run = header("benchmarks.opened_elsewhere", given, text=text, seed=0)
            print_table(vectors, run)
            if options.data is not None:
                scores, found = _scored(options.encoder, opened, options.data, folder)
                print_table(scores, run)
                figures |= found
    except (OSError, ValueError) as error:
        return fail(str(error))
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
        print("sentence-transformers is not installed: left out", file=sys.stderr)
    try:
        from model2vec import StaticModel

        opened["model2vec"] = StaticModel.from_pretrained(str(out))
    except ModuleNotFoundError:
        print("model2vec is not installed: left out", file=sys.stderr)
    if not opened:
        raise ValueError("install sentence-transformers or model2vec, to have something to compare")
    return opened


def _compared(
    encoder: str, opened: dict[str, Any], sentences: Sequence[str]
) -> tuple[Table, dict[str, float]]:
    ours, seconds = _timed(models.load(encoder).encode, sentences)
    rows = [["treeviews", "", "", f"{len(sentences) / seconds:,.0f}"]]
    figures: dict[str, float] = {"sentences": len(sentences)}
    for name, other in opened.items():
        theirs, seconds = _timed(other.encode, sentences)
        apart = np.abs(ours - theirs).max(axis=1)
        equal = int((apart <= EQUAL).sum())
        rows.append(
            [name, f"{equal:,}", f"{float(apart.max()):.1e}", f"{len(sentences) / seconds:,.0f}"]
        )
        slug = name.replace("-", "_")
        figures[f"{slug}_equal_vectors"] = equal / len(sentences)
        figures[f"{slug}_largest_difference"] = float(apart.max())
    columns = ("opened by", f"equal to {EQUAL:.0e}", "largest difference", "sentences/s")
    notes = ["seconds on the clock, all threads that the library takes by itself"]
    return Table(f"Vectors of {encoder}", columns, rows, notes), figures


def _timed(encode: Callable[..., Any], sentences: Sequence[str]) -> tuple[FloatArray, float]:
    started = time.perf_counter()
    vectors: FloatArray = np.asarray(encode(list(sentences)), dtype=np.float32)
    return vectors, time.perf_counter() - started


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
    add("--quick", action="store_true", help=f"at most {QUICK_SENTENCES} sentences")
    return parser


if __name__ == "__main__":
    sys.exit(main())
