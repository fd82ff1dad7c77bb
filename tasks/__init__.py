"""Every stage as a resumable Luigi task: ``luigi --module tasks RunAll --local-scheduler``."""

from pipeline.base.foreign_text import guard_logs
from tasks.command_line import teach_command_line
from tasks.embedding import EmbedCorpus, EmbedShard
from tasks.evaluation_data import DownloadSentEval
from tasks.frameworks import CompareFrameworks
from tasks.pairs import MakePairs
from tasks.parsers import ConvertParser, TrainConstituencyParser, TrainDependencyParser
from tasks.parsing import ParseConstituents, ParseDependencies, ParseShard
from tasks.probing_text import (
    AlterSentences,
    BuildProbing,
    ParseAlteredConstituents,
    ParseAlteredDependencies,
)
from tasks.report import WriteReport
from tasks.sentences import DownloadCorpus, SplitSentences
from tasks.senteval import EvaluateAll, EvaluateEncoder, EvaluateTask
from tasks.training import TrainEncoders
from tasks.word_vectors import TrainWordVectors
from tasks.workers import teach_luigi
from tasks.workflows import RunAll

__all__ = [
    "AlterSentences",
    "BuildProbing",
    "CompareFrameworks",
    "ConvertParser",
    "DownloadCorpus",
    "DownloadSentEval",
    "EmbedCorpus",
    "EmbedShard",
    "EvaluateAll",
    "EvaluateEncoder",
    "EvaluateTask",
    "MakePairs",
    "ParseAlteredConstituents",
    "ParseAlteredDependencies",
    "ParseConstituents",
    "ParseDependencies",
    "ParseShard",
    "RunAll",
    "SplitSentences",
    "TrainConstituencyParser",
    "TrainDependencyParser",
    "TrainEncoders",
    "TrainWordVectors",
    "WriteReport",
]

guard_logs()
teach_luigi()
teach_command_line()
