"""The roots: each of the papers' tables by a name of its own."""

from __future__ import annotations

from models.experiments.papers.invertible_decoders import INVERTIBLE_DECODERS
from models.experiments.papers.multi_view_frameworks import (
    JOINT_OBJECTIVES,
    MULTI_VIEW_ABLATIONS,
    MULTI_VIEW_POST_PROCESSING,
    MULTI_VIEW_SIMILARITY,
    MULTI_VIEW_SUPERVISED,
)
from models.experiments.papers.structured_views import (
    CORPUS_CHOICE,
    EMBEDDING_SIZE,
    RANDOM_BASELINES,
    SENTEVAL_TABLE,
    VIEW_PAIRS,
)
from tasks.experiments.make_table import MakeTable


class TableOfViewPairs(MakeTable):
    """Makes table 2 of Simoulin & Crabbé 2021: pairs of views, and single views."""

    declared = VIEW_PAIRS


class TableOfSentEval(MakeTable):
    """Makes table 1 of Simoulin & Crabbé 2021: pairs of views beside models of others."""

    declared = SENTEVAL_TABLE


class TableOfCorpusChoice(MakeTable):
    """Makes the first part of table 3 of Simoulin & Crabbé 2021: QuickThoughts on two texts."""

    declared = CORPUS_CHOICE


class TableOfEmbeddingSize(MakeTable):
    """Makes the second part of table 3 of Simoulin & Crabbé 2021: width by random projection."""

    declared = EMBEDDING_SIZE


class TableOfRandomBaselines(MakeTable):
    """Makes the third part of table 3 of Simoulin & Crabbé 2021: training and random weights."""

    declared = RANDOM_BASELINES


class TableOfMultiViewSimilarity(MakeTable):
    """Makes tables 3 and 4 of Tang & de Sa 2018: both frameworks on similarity by cosine."""

    declared = MULTI_VIEW_SIMILARITY


class TableOfMultiViewSupervised(MakeTable):
    """Makes table 5 of Tang & de Sa 2018: both frameworks on tasks that learn."""

    declared = MULTI_VIEW_SUPERVISED


class TableOfMultiViewAblations(MakeTable):
    """Makes table 6 of Tang & de Sa 2018: single views, views of one kind, a free decoder."""

    declared = MULTI_VIEW_ABLATIONS


class TableOfPostProcessing(MakeTable):
    """Makes table 2 of the appendix of Tang & de Sa 2018: the top component removed and kept."""

    declared = MULTI_VIEW_POST_PROCESSING


class TableOfJointObjectives(MakeTable):
    """Makes table 3 of the appendix of Tang & de Sa 2018: both objectives together."""

    declared = JOINT_OBJECTIVES


class TableOfInvertibleDecoders(MakeTable):
    """Makes tables 1 to 3 of Tang & de Sa 2019: linear and bijective decoders and their inverse."""

    declared = INVERTIBLE_DECODERS


TABLES: tuple[type[MakeTable], ...] = (
    TableOfViewPairs,
    TableOfSentEval,
    TableOfCorpusChoice,
    TableOfEmbeddingSize,
    TableOfRandomBaselines,
    TableOfMultiViewSimilarity,
    TableOfMultiViewSupervised,
    TableOfMultiViewAblations,
    TableOfPostProcessing,
    TableOfJointObjectives,
    TableOfInvertibleDecoders,
)
"""What `PaperTables` makes, in the order of its page."""
