"""Encoders of models that are made in a test."""

from __future__ import annotations

from collections.abc import Sequence

from treeviews.models.encoding.encoder import Encoder, EncoderSettings
from treeviews.models.encoding.sentence_reader import Parsers
from treeviews.models.encoding.torch_model import TorchModel
from treeviews.models.encoding.view_models import MeanModel, ViewModel
from treeviews.models.model.sentence_model import SentenceModel
from treeviews.models.words.word_vectors import WordVectors
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.sentence_parser import Sentence
from treeviews.pipeline.trees.flat_trees import ConstituencyParse, DependencyParse, Parse


def encoder_by(model: ViewModel, settings: EncoderSettings | None = None) -> Encoder:
    """Returns a model with all its views as an encoder."""
    return Encoder([(model, ())], settings=settings or EncoderSettings(on_refusal="error"))


def words_encoder(vectors: WordVectors, settings: EncoderSettings | None = None) -> Encoder:
    """Returns the bag of words of some vectors."""
    return encoder_by(MeanModel(vectors), settings)


def torch_encoder(
    model: SentenceModel, parsers: Parsers, settings: EncoderSettings | None = None
) -> Encoder:
    """Returns a model with its parsers as an encoder."""
    return encoder_by(TorchModel(model, parsers), settings)


REFUSED = {"dependencies": "crash", "constituents": "no"}
"""The first word of what a parser does not take."""


class CountingParser:
    """Right-branching trees, and an account of what was asked."""

    name = "right"

    def __init__(self, stage: str, checksum: str = "1") -> None:
        self.stage, self.checksum = stage, checksum
        self.asked: list[Sentence] = []

    def parse(self, sentences: Sequence[Sentence]) -> list[Parse | Refusal]:
        self.asked += sentences
        return [self._parse(list(sentence)) for sentence in sentences]

    def _parse(self, tokens: list[str]) -> Parse | Refusal:
        n = len(tokens)
        if tokens[0] == REFUSED[self.stage]:
            return Refusal("parser_error", f"{self.stage}: no é in it")
        if self.stage == "dependencies":
            return DependencyParse(heads=list(range(n)), deprels=["dep"] * n)
        spans = range(max(1, n - 1))
        return ConstituencyParse(list(spans), [n] * len(spans), ["X"] * len(spans), ["T"] * n)
