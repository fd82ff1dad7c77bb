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


def announce_at_exit(report: WriteReport) -> None:
    """Prints a report's path as the last line of the process, if it is then complete."""
    marker, path = report.output().path, str(report.folder / "report.md")
    if path in _announced or multiprocessing.parent_process() is not None:
        return
    _announced.add(path)
    atexit.register(lambda: print(path, flush=True) if Path(marker).exists() else None)


class RunAll(
    CorpusParameters, HeldOutParameters, ParserParameters, TrainingParameters, luigi.WrapperTask
):
    """The main job: text to report.

    Splits and parses a corpus, trains two structured views on it, scores them beside their
    baselines, and writes a report whose path is the last thing printed.
    """

    work_folder = WriteReport.work_folder
    device = WriteReport.device

    def requires(self) -> WriteReport:
        """Returns the report, on which everything else hangs."""
        report: WriteReport = self.clone(WriteReport)
        announce_at_exit(report)
        return report
