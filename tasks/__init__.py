"""Every stage as a resumable Luigi task: ``luigi --module treeviews.tasks RunAll``."""

import sys

from treeviews.pipeline.base.foreign_text import guard_logs
from treeviews.tasks import command_line, run
from treeviews.tasks.embed_corpus import EmbedCorpus
from treeviews.tasks.evaluation_data import BuildProbing, DownloadSentEval
from treeviews.tasks.experiments.make_table import TABLES, PaperTables, Sweep
from treeviews.tasks.parsers import ConvertParser, TrainConstituencyParser, TrainDependencyParser
from treeviews.tasks.parsing import ParseConstituents, ParseDependencies
from treeviews.tasks.report import RunAll, WriteReport
from treeviews.tasks.sentences import DownloadCorpus, FetchDataset, SplitSentences
from treeviews.tasks.senteval import EvaluateAll, EvaluateEncoder, EvaluateTask
from treeviews.tasks.training import ExpandVocabulary, TrainEncoders
from treeviews.tasks.words import CountVocabulary, DownloadVectors, TrainWordVectors

__all__ = [
    "BuildProbing",
    "ConvertParser",
    "CountVocabulary",
    "DownloadCorpus",
    "DownloadSentEval",
    "DownloadVectors",
    "EmbedCorpus",
    "EvaluateAll",
    "EvaluateEncoder",
    "EvaluateTask",
    "ExpandVocabulary",
    "FetchDataset",
    "PaperTables",
    "ParseConstituents",
    "ParseDependencies",
    "RunAll",
    "SplitSentences",
    "Sweep",
    "TrainConstituencyParser",
    "TrainDependencyParser",
    "TrainEncoders",
    "TrainWordVectors",
    "WriteReport",
]
__all__ += list(TABLES)
globals().update(TABLES)

if __name__ == "tasks":  # as a checkout has it: one module under both names
    sys.modules[__name__] = sys.modules["treeviews.tasks"]
else:
    guard_logs()
    run.follow_processes()
    command_line.set_up()
