"""Every stage as a resumable Luigi task: ``luigi --module tasks RunAll --local-scheduler``."""

from pipeline.base.foreign_text import guard_logs
from tasks.cleaning import FindDuplicates, SignParts
from tasks.command_line import teach_command_line
from tasks.datasets import FetchDataset
from tasks.embedding import EmbedCorpus, EmbedShard
from tasks.evaluation_data import DownloadSentEval
from tasks.expansion import ExpandVocabulary
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
from tasks.vocabulary import CountShard, CountVocabulary
from tasks.word_vectors import DownloadVectors, TrainWordVectors
from tasks.workers import teach_luigi
from tasks.workflows import RunAll

__all__ = [
    "AlterSentences",
    "BuildProbing",
    "CompareFrameworks",
    "ConvertParser",
    "CountShard",
    "CountVocabulary",
    "DownloadCorpus",
    "DownloadSentEval",
    "DownloadVectors",
    "EmbedCorpus",
    "EmbedShard",
    "EvaluateAll",
    "EvaluateEncoder",
    "EvaluateTask",
    "ExpandVocabulary",
    "FetchDataset",
    "FindDuplicates",
    "MakePairs",
    "ParseAlteredConstituents",
    "ParseAlteredDependencies",
    "ParseConstituents",
    "ParseDependencies",
    "ParseShard",
    "RunAll",
    "SignParts",
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
