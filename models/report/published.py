"""The figures that the papers give for their frameworks, each with the table and row it stands in.

Sources: B = Tang & de Sa 2018, "Improving Sentence Representations with Multi-view Frameworks";
C = Tang & de Sa 2019, "Exploiting Invertible Decoders for Unsupervised Sentence Representation
Learning". Similarity is Pearson's r times 100, and neither paper says how the subsets of an STS
task make one figure. SICK-R and STS-B are r times 100, too; what is left is percent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

Part = Literal["en", "de", "ensemble"]
"""What of a model answers: recurrent encoders, linear ones or the decoder's inverse, or all."""
Corpus = Literal["BookCorpus", "UMBC News", "Amazon Book Review"]

SENTENCES: Mapping[Corpus, float] = {
    "BookCorpus": 74e6,
    "UMBC News": 134.5e6,
    "Amazon Book Review": 150.8e6,
}
"""Sentences of each corpus that the papers train on (B, table 1; C, table 4)."""
PARAMETERS: Mapping[str, float] = {"B-G": 8.8e6, "B-D": 8.8e6}
"""B, appendix 6: "≈ 8.8M" for "ours", whichever the objective; C gives none."""
TUNED_ON = "STS14"
"""What both papers tuned on, with the model trained on BookCorpus (B, section 3; C, section 4)."""

SIMILARITY = ("STS12", "STS13", "STS14", "STS15", "STS16", "SICK14")
BINARY = ("MR", "CR", "SUBJ", "MPQA", "SST2")
MRPC_F1 = "MRPC F1"
"""No task of that name is scored, so tables show accuracy alone; the figure is for readers here."""
LEARNT = ("SICK-R", "SICK-E", "MRPC", MRPC_F1, "TREC", *BINARY)
"""In the order of the papers' columns."""
MEAN_SIMILARITY = "mean of STS12-16, SICK14"
MEAN_RELATEDNESS = "mean of SICK-R, STS-B"
MEAN_BINARY = "mean of MR, CR, SUBJ, MPQA, SST2"
MEANS: Mapping[str, tuple[str, ...]] = {
    MEAN_SIMILARITY: SIMILARITY,
    MEAN_RELATEDNESS: ("SICK-R", "STS-B"),
    MEAN_BINARY: BINARY,
}
"""The averages of B's table 6 and of its appendix: name -> tasks."""

WORD_VECTORS = "word vectors"
FREE_DECODER = "B-G, free decoder"
TWO_RECURRENT = "B-D, f1 and f2"
TWO_LINEAR = "B-D, g1 and g2"
RECURRENT_ALONE = "B-D, f alone"
LINEAR_ALONE = "B-D, g alone"
JOINED_PAIRS = "B-D, f1 beside g1"
JOINED_ALONE = "B-D, f and g apart"
"""Names of B's variants (table 6), as `PublishedRow.framework` has them."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """What a model reaches, as one row or column of a table gives it."""

    framework: str
    """A preset of `models.training_presets`, a variant of one, or `WORD_VECTORS`: the mean of
    fastText's, which are the frameworks' own word vectors."""
    part: Part
    corpus: Corpus | None
    """None where it is not the papers' own model."""
    source: str
    figures: Mapping[str, float]
    """By task, or by the name of a mean."""
    component_removed: bool = True
    """Whether the top principal component of the representations is removed."""


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One figure and where it stands."""

    value: float
    source: str
    corpus: Corpus | None
    """That the model was trained on; None of word vectors."""


def published_figure(
    framework: str, part: Part, task: str, *, component_removed: bool, corpus: Corpus = "BookCorpus"
) -> PublishedFigure | None:
    """Returns what the papers give for a task or mean, or None where they give nothing.

    Args:
        corpus: that the model was trained on; word vectors are the same beside each.
    """
    for row in ROWS:
        of_model = (row.framework, row.part) == (framework, part) and row.corpus in (corpus, None)
        if of_model and row.component_removed == component_removed and task in row.figures:
            return PublishedFigure(row.figures[task], row.source, row.corpus)
    return None


def _table(
    source: str, names: Sequence[str], text: str, *, component_removed: bool = True
) -> tuple[PublishedRow, ...]:
    """Returns the rows of ``framework | part | corpus | the paper's name | figures`` lines."""
    rows = []
    for line in text.strip().splitlines():
        framework, part, corpus, symbol, values = (cell.strip() for cell in line.split("|"))
        figures = dict(zip(names, map(float, values.split()), strict=True))
        rows.append(
            PublishedRow(
                framework,
                cast(Part, part),
                _CORPORA[corpus],
                f"{source}, {symbol}",
                figures,
                component_removed,
            )
        )
    return tuple(rows)


_CORPORA: Mapping[str, Corpus | None] = {
    "1": "BookCorpus",
    "2": "UMBC News",
    "3": "Amazon Book Review",
    "-": None,
}
"""As B numbers them."""
_SIX = (*SIMILARITY, MEAN_SIMILARITY)
_MEANS = (MEAN_SIMILARITY, MEAN_RELATEDNESS, MEAN_BINARY, "MRPC", MRPC_F1)

_B_TABLE_3 = """
B-G | ensemble | 1 | G1 | 60.0 60.5 71.1 75.7 75.4 73.8 69.4
B-G | ensemble | 2 | G2 | 61.3 61.8 72.1 76.9 76.1 73.6 70.3
B-G | ensemble | 3 | G3 | 60.1 60.2 71.5 75.5 75.1 72.7 69.2
B-D | ensemble | 1 | D1 | 60.9 60.1 71.5 76.4 75.8 74.7 69.9
B-D | ensemble | 2 | D2 | 64.0 61.7 73.7 77.2 76.7 74.9 71.4
B-D | ensemble | 3 | D3 | 60.7 59.9 70.7 76.5 74.8 72.8 69.2
word vectors | ensemble | - | fastText WR | 58.8 59.9 69.4 74.2 72.4 72.3 67.8
"""
_B_TABLE_3_KEPT = """
word vectors | ensemble | - | fastText avg | 58.3 51.0 65.2 67.7 64.3 69.8 62.7
"""
_B_TABLE_5 = """
B-G | ensemble | 1 | G1 | 88.1 85.2 76.5 83.7 90.0 81.3 83.5 94.6 89.5 85.9
B-G | ensemble | 2 | G2 | 87.8 85.9 77.5 83.8 92.2 81.3 83.4 94.7 89.5 85.9
B-G | ensemble | 3 | G3 | 87.7 84.4 76.0 83.7 90.6 84.0 85.6 95.3 89.7 88.7
B-D | ensemble | 1 | D1 | 87.9 84.8 77.1 83.4 91.8 81.6 83.9 94.5 89.1 85.8
B-D | ensemble | 2 | D2 | 87.8 85.2 76.8 83.9 91.6 81.5 82.9 94.7 89.3 84.9
B-D | ensemble | 3 | D3 | 87.7 85.2 75.7 82.5 89.8 85.0 85.7 95.7 90.0 89.6
"""
_B_TABLE_5_KEPT = """
word vectors | ensemble | - | fastText+bow of Mikolov 2017 | 73.4 81.6 84.0 78.2 81.1 92.5 87.8 82.0
"""
_B_TABLE_6 = """
B-G | en | 2 | generative, z^f | 66.6 82.0 86.1 74.7 83.1
B-G | de | 2 | generative, z^g | 67.8 82.3 85.3 74.8 82.2
B-G | ensemble | 2 | generative, en(z^f, z^g) | 70.3 82.7 87.0 77.5 83.8
B-G, free decoder | en | 2 | no constraint, z^f | 55.7 79.9 86.0 73.2 81.7
B-G, free decoder | de | 2 | no constraint, z^g | 70.1 82.8 85.0 74.3 82.0
B-G, free decoder | ensemble | 2 | no constraint, en(z^f, z^g) | 67.8 82.9 86.4 74.8 83.2
B-D | en | 2 | discriminative, z^f | 67.4 83.0 86.6 75.5 82.7
B-D | de | 2 | discriminative, z^g | 69.2 82.6 85.2 74.3 82.7
B-D | ensemble | 2 | discriminative, en(z^f, z^g) | 71.4 83.0 86.6 76.8 83.9
B-D, f1 and f2 | en | 2 | z^f1 | 49.7 82.2 86.3 75.9 83.0
B-D, f1 and f2 | ensemble | 2 | en(z^f1, z^f2) | 57.3 81.9 87.1 77.2 83.7
B-D, g1 and g2 | de | 2 | z^g1 | 68.5 80.8 84.2 72.5 82.0
B-D, g1 and g2 | ensemble | 2 | en(z^g1, z^g2) | 69.1 77.0 84.5 73.5 82.3
B-D, f1 beside g1 | ensemble | 2 | en(z^f1, z^g1) | 67.5 82.3 86.9 76.6 83.8
B-D, f alone | en | 2 | single view, z^f | 57.8 81.6 85.8 74.8 82.3
B-D, g alone | de | 2 | single view, z^g | 68.7 81.1 83.3 72.9 81.0
B-D, f and g apart | ensemble | 2 | single view, en(z^f, z^g) | 68.6 82.3 86.3 75.4 82.5
"""
_B_APPENDIX_TABLE_2 = """
B-G | ensemble | 1 | G1 w/ | 69.4 83.1 87.0 76.5 83.7
B-G | ensemble | 2 | G2 w/ | 70.3 82.7 87.0 77.5 83.8
B-G | ensemble | 3 | G3 w/ | 69.2 83.2 88.6 76.0 83.7
B-D | ensemble | 1 | D1 w/ | 69.9 82.6 87.0 77.1 83.4
B-D | ensemble | 2 | D2 w/ | 71.4 83.0 86.6 76.8 83.9
B-D | ensemble | 3 | D3 w/ | 69.2 83.2 89.1 75.7 82.5
"""
_B_APPENDIX_TABLE_2_KEPT = """
B-G | ensemble | 1 | G1 w/o | 66.5 80.0 86.6 76.7 83.5
B-G | ensemble | 2 | G2 w/o | 67.7 79.5 86.3 78.3 84.6
B-G | ensemble | 3 | G3 w/o | 65.0 80.0 88.6 76.1 83.7
B-D | ensemble | 1 | D1 w/o | 59.3 81.8 84.2 75.0 82.5
B-D | ensemble | 2 | D2 w/o | 68.5 83.5 86.5 76.5 84.3
B-D | ensemble | 3 | D3 w/o | 64.0 83.4 89.2 75.1 82.8
"""
_B_APPENDIX_TABLE_3 = """
B-GD | ensemble | 1 | GD1 | 68.0 82.6 87.1 76.4 83.8
B-GD | ensemble | 2 | GD2 | 70.5 83.1 87.1 76.5 84.0
"""
_C_TABLE_2 = """
C-bijective | en | 1 | Bijection+Linear z_en | 87.3 83.3 74.6 83.0 87.4 80.4 82.2 94.1 89.0 83.7
C-bijective | de | 1 | Bijection+Linear z_de | 85.1 81.2 74.1 82.0 83.0 78.5 80.6 92.5 88.1 82.0
C-bijective | ensemble | 1 | Bijection+Linear z | 87.7 85.1 75.9 83.4 89.8 80.9 82.7 94.4 89.0 84.2
C-linear | en | 1 | Linear z_en | 86.9 83.4 75.1 83.4 89.4 80.4 82.8 94.0 89.1 84.6
C-linear | de | 1 | Linear z_de | 87.3 84.3 73.7 82.5 88.2 79.0 82.0 93.5 88.8 82.8
C-linear | ensemble | 1 | Linear z | 88.1 85.2 76.5 83.7 90.0 81.3 83.5 94.6 89.5 85.9
C-linear | ensemble | 2 | U - Linear z | 87.8 85.9 77.5 83.8 92.2 81.3 83.4 94.7 89.5 85.9
C-linear | ensemble | 3 | A - Linear z | 87.7 84.4 76.0 83.7 90.6 84.0 85.6 95.3 89.7 88.7
"""
_C_TABLE_3 = """
C-linear | en | 1 | Linear z_en | 55.7 55.7 65.6 71.0 71.8 69.8
C-linear | de | 1 | Linear z_de | 58.8 59.5 69.2 73.9 72.3 72.2
C-linear | ensemble | 1 | Linear z | 60.0 60.5 71.1 75.7 75.4 73.8
C-bijective | en | 1 | Bijection+Linear z_en | 55.2 54.6 64.9 71.3 71.2 69.8
C-bijective | de | 1 | Bijection+Linear z_de | 55.3 50.9 67.6 69.1 69.3 70.8
C-bijective | ensemble | 1 | Bijection+Linear z | 58.3 58.2 70.4 74.0 74.5 72.8
"""

ROWS: tuple[PublishedRow, ...] = (
    *_table("B, table 3", _SIX, _B_TABLE_3),
    *_table("B, table 3", _SIX, _B_TABLE_3_KEPT, component_removed=False),
    *_table("B, table 5", LEARNT, _B_TABLE_5),
    *_table("B, table 5", LEARNT[2:], _B_TABLE_5_KEPT, component_removed=False),
    *_table("B, table 6", _MEANS, _B_TABLE_6),
    *_table("B, appendix table 2", _MEANS, _B_APPENDIX_TABLE_2),
    *_table("B, appendix table 2", _MEANS, _B_APPENDIX_TABLE_2_KEPT, component_removed=False),
    *_table("B, appendix table 3", _MEANS, _B_APPENDIX_TABLE_3),
    *_table("C, table 2", LEARNT, _C_TABLE_2),
    *_table("C, table 3", SIMILARITY, _C_TABLE_3),
)
"""All rows. A figure that stands in two tables is the same in both. C's ensemble of its linear
decoder is B's of its generative framework; of single views B gives no figures on BookCorpus, where
C does. ``fastText+bow`` is quoted by B, so its pooling is not B's."""
