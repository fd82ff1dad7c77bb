"""The figures that the papers give for their frameworks, each with the table and row it stands in.

Sources: B = Tang & de Sa 2018, "Improving Sentence Representations with Multi-view Frameworks";
C = Tang & de Sa 2019, "Exploiting Invertible Decoders for Unsupervised Sentence Representation
Learning". Similarity is Pearson's r times 100, and neither paper says how the subsets of an STS
task make one figure. SICK-R and STS-B are r times 100, too; what is left is percent.

They stand in ``published.csv``, a line a row of a paper's table, a column a task. A figure that
stands in two tables is the same in both. C's ensemble of its linear decoder is B's of its
generative framework; of single views B gives no figures on BookCorpus, where C does.
``fastText+bow of Mikolov 2017`` is quoted by B, so its pooling is not B's.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
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
COMPARED_CORPORA: tuple[Corpus, ...] = ("BookCorpus", "UMBC News")
"""Whose figures stand beside ours: those of the first that a paper gives."""
PARAMETERS: Mapping[str, float] = {"B-G": 8.8e6, "B-D": 8.8e6}
"""B, appendix 6: "≈ 8.8M" for "ours", whichever the objective; C gives none."""
TUNED_ON = "STS14"
"""What both papers tuned on, with the model trained on BookCorpus (B, section 3; C, section 4)."""

SIMILARITY = ("STS12", "STS13", "STS14", "STS15", "STS16", "SICK14")
BINARY = ("MR", "CR", "SUBJ", "MPQA", "SST2")
LEARNT = ("SICK-R", "SICK-E", "MRPC", "MRPC F1", "TREC", *BINARY)
"""In the order of the papers' columns. No task is called MRPC F1, so tables show accuracy alone;
the figure is for readers of ``published.csv``."""
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
"""The mean of fastText's, which are the frameworks' own word vectors."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """What a model reaches, as one row or column of a table gives it."""

    source: str
    framework: str
    """A preset of `models.config.training_presets`, a variant of one, or `WORD_VECTORS`."""
    part: Part
    corpus: Corpus | None
    """None where it is not the papers' own model."""
    component_removed: bool
    """Whether the top principal component of the representations is removed."""
    figures: Mapping[str, float]
    """By task, or by the name of a mean."""


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


def _read(path: Path) -> tuple[PublishedRow, ...]:
    leading = ("source", "framework", "part", "corpus", "component")
    with path.open(encoding="utf-8", newline="") as stream:
        return tuple(
            PublishedRow(
                line["source"],
                line["framework"],
                cast(Part, line["part"]),
                cast(Corpus, line["corpus"]) or None,
                line["component"] == "removed",
                {name: float(cell) for name, cell in line.items() if cell and name not in leading},
            )
            for line in csv.DictReader(stream)
        )


ROWS = _read(Path(__file__).with_name("published.csv"))
"""All rows, in the order of the papers' tables."""
