"""Every stage as a resumable Luigi task: ``luigi --module tasks RunAll --local-scheduler``."""

import sys

from treeviews.pipeline.base.foreign_text import guard_logs
from treeviews.tasks import command_line, run
from treeviews.tasks.datasets import FetchDataset
from treeviews.tasks.embedding import EmbedCorpus
from treeviews.tasks.evaluation_data import DownloadSentEval
from treeviews.tasks.evaluation_table import EvaluateAll
from treeviews.tasks.expansion import ExpandVocabulary
from treeviews.tasks.experiments.tables import (
    PaperTables,
    Sweep,
    TableOfCorpusChoice,
    TableOfEmbeddingSize,
    TableOfInvertibleDecoders,
    TableOfJointObjectives,
    TableOfMultiViewAblations,
    TableOfMultiViewSimilarity,
    TableOfMultiViewSupervised,
    TableOfPostProcessing,
    TableOfRandomBaselines,
    TableOfSentEval,
    TableOfViewPairs,
)
from treeviews.tasks.parsers import ConvertParser, TrainConstituencyParser, TrainDependencyParser
from treeviews.tasks.parsing import ParseConstituents, ParseDependencies
from treeviews.tasks.probing_text import (
    BuildProbing,
)
from treeviews.tasks.report import WriteReport
from treeviews.tasks.sentences import DownloadCorpus, SplitSentences
from treeviews.tasks.senteval import EvaluateEncoder, EvaluateTask
from treeviews.tasks.training import TrainEncoders
from treeviews.tasks.vocabulary import CountVocabulary
from treeviews.tasks.word_vectors import DownloadVectors, TrainWordVectors
from treeviews.tasks.workflows import RunAll

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
    "TableOfCorpusChoice",
    "TableOfEmbeddingSize",
    "TableOfInvertibleDecoders",
    "TableOfJointObjectives",
    "TableOfMultiViewAblations",
    "TableOfMultiViewSimilarity",
    "TableOfMultiViewSupervised",
    "TableOfPostProcessing",
    "TableOfRandomBaselines",
    "TableOfSentEval",
    "TableOfViewPairs",
    "TrainConstituencyParser",
    "TrainDependencyParser",
    "TrainEncoders",
    "TrainWordVectors",
    "WriteReport",
]

if __name__ == "tasks":  # as a checkout has it: one module under both names
    sys.modules[__name__] = sys.modules["treeviews.tasks"]
else:
    guard_logs()
    run.follow_processes()
    command_line.set_up()
