"""The roots: what a user asks for by name."""

from __future__ import annotations

from treeviews.tasks.artefact import Artefact, RequestTask
from treeviews.tasks.parameters import (
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    SentEvalParameters,
    TrainingParameters,
)
from treeviews.tasks.report import ReportParameters, WriteReport


class RunAll(
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
    ReportParameters,
    SentEvalParameters,
    RequestTask,
):
    """The main job: text to report.

    Splits and parses a corpus, trains the views of the preset on it, scores them beside their
    baselines, and writes a report whose path is the last thing printed. With SentEval's data, it
    scores them on its tasks, too.
    """

    work_folder = WriteReport.work_folder
    device = WriteReport.device

    def requires(self) -> list[Artefact]:
        """Returns the report, on which everything else hangs, and SentEval's table if asked.

        The latter and the stages with shards, too: Luigi asks for nothing below a report that
        stands, and they notice what is gone of them.
        """
        report: WriteReport = self.clone(WriteReport)
        evaluations = [] if report.evaluation is None else [report.evaluation]
        return [report, *evaluations, *report.shard_stages]
