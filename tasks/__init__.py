"""Every stage as a resumable Luigi task: ``luigi --module tasks RunAll --local-scheduler``."""

from pipeline.base.foreign_text import guard_logs
from tasks import command_line, run
from tasks.datasets import FetchDataset
from tasks.embedding import EmbedCorpus
from tasks.evaluation_data import DownloadSentEval
from tasks.evaluation_table import EvaluateAll
from tasks.expansion import ExpandVocabulary
from tasks.experiments.tables import (
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
from tasks.parsers import ConvertParser, TrainConstituencyParser, TrainDependencyParser
from tasks.parsing import ParseConstituents, ParseDependencies
from tasks.probing_text import (
    BuildProbing,
)
from tasks.report import WriteReport
from tasks.sentences import DownloadCorpus, SplitSentences
from tasks.senteval import EvaluateEncoder, EvaluateTask
from tasks.training import TrainEncoders
from tasks.vocabulary import CountVocabulary
from tasks.word_vectors import DownloadVectors, TrainWordVectors
from tasks.workflows import RunAll

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

guard_logs()
run.follow_processes()
command_line.set_up()
