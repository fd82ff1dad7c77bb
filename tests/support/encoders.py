"""Encoders of models that are made in a test."""

from __future__ import annotations

from treeviews.models.encoding.encoder import Encoder, EncoderSettings
from treeviews.models.encoding.sentence_reader import Parsers
from treeviews.models.encoding.torch_model import TorchModel
from treeviews.models.encoding.view_models import MeanModel, ViewModel
from treeviews.models.model.sentence_model import SentenceModel
from treeviews.models.words.word_vectors import WordVectors


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
