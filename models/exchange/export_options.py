"""How a model is passed on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pipeline.base.mistakes import did_you_mean

Format = Literal["treeviews", "sentence-transformers", "model2vec"]
PARSERS_FOLDER = "parsers"
"""Within a self-contained model's folder."""


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """How a model is passed on."""

    format: Format = "treeviews"
    self_contained: bool = False
    """Whether word vectors and parsers are put inside, even those that ship."""
    num_words: int | None = None
    """Of a bag of words, the most frequent ones; None takes all."""
    components: int = 0
    """Of a bag, how many are removed."""
    vectors: Path | None = None
    """Where the word vectors lie, if they were moved."""
    dependency_parser: Path | None = None
    constituency_parser: Path | None = None
    licence: str = ""
    """Of the model; by default what its folder or its card says."""
    text_licence: str = ""
    """Of the text that it was trained on."""
    results: Path | None = None
    """Folder of results of its evaluation, whose scores its card is to have."""

    def __post_init__(self) -> None:
        if self.format not in get_args(Format):
            raise ValueError(
                f"--format must be one of {', '.join(get_args(Format))}, not {self.format!r}"
                f"{did_you_mean(self.format, known=get_args(Format))}"
            )
        if self.components < 0 or (self.num_words is not None and self.num_words < 1):
            raise ValueError("--components must be 0 or more, --words 1 or more")
