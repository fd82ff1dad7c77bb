"""The roots: what a user asks for by name."""

from __future__ import annotations

import atexit
import multiprocessing
from pathlib import Path

import luigi

from tasks.parameters import (
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
)
from tasks.report import WriteReport

_announced: set[str] = set()


def announce_at_exit(report: str) -> None:
    """Prints a report's path as the last line of the process, if it then exists."""
    if report in _announced or multiprocessing.parent_process() is not None:
        return
    _announced.add(report)
    existed_at = Path(report)
    atexit.register(lambda: print(existed_at, flush=True) if existed_at.exists() else None)


class RunAll(
    CorpusParameters, HeldOutParameters, ParserParameters, TrainingParameters, luigi.WrapperTask
):
    """The main job: text to report.

    Splits and parses a corpus, trains two structured views on it, scores them beside their
    baselines, and writes a report whose path is the last thing printed.
    """

    work_folder = WriteReport.work_folder

    def requires(self) -> WriteReport:
        """Returns the report, on which everything else hangs."""
        report: WriteReport = self.clone(WriteReport)
        announce_at_exit(str(report.folder / "report.md"))
        return report
