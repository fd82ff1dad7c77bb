"""The roots: what a user asks for by name."""

from __future__ import annotations

import luigi

from tasks.parameters import (
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
)
from tasks.report import WriteReport


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
        return report
