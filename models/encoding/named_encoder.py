"""From an encoder's name to the encoder: a model, a baseline, or a user's own function.

torch is loaded where an encoder needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from models.encoding.encoder_interface import Encoder, ViewEncoder
from models.encoding.encoder_names import ModelViews, parse_encoder_name
from models.encoding.joined_encoder import EncoderViews, JoinedEncoder
from models.encoding.own_encoder import DEFAULT_BATCH_SIZE, CallableEncoder, import_encoder
from models.encoding.reading_encoder import EncoderSettings, WordsEncoder
from models.words.vector_files import load_word_vectors
from pipeline.base.bundled import BUNDLED_VECTORS

if TYPE_CHECKING:
    from models.encoding.text_encoder import TextEncoder


def resolve_encoder(called: str, settings: EncoderSettings | None = None) -> Encoder:
    """Returns the encoder of this name; loads what it needs.

    Args:
        called: see `models.encoding.encoder_names`.

    Raises:
        FileNotFoundError: word vectors are not there, or no model is.
        ValueError: the name stands for nothing, for what is no encoder, or for what Luigi alone
            knows; or a model has no such view.
    """
    settings = settings or EncoderSettings()
    name = parse_encoder_name(called)
    match name.kind:
        case "bag_of_words":
            return words_encoder(settings)
        case "random":
            from models.encoding.text_encoder import random_text_encoder

            assert name.seed is not None
            return random_text_encoder(name.seed, settings)
        case "model":
            from models.encoding.text_encoder import load_text_encoder

            return load_text_encoder(name.parts[0].folder, settings)
        case "joined":
            return _joined(name.parts, settings)
        case "function":
            return _own(called, settings)
    raise ValueError(
        f"encoder {called!r}: only a run of Luigi knows what it trained; give the folder of the "
        f"model, one of this name as ./{called}"
    )


def words_encoder(settings: EncoderSettings) -> WordsEncoder:
    """Returns the bag of words.

    Raises:
        FileNotFoundError: word vectors are not there.
    """
    return WordsEncoder(load_word_vectors(settings.vectors or BUNDLED_VECTORS), settings)


def words_beside(encoder: Encoder, settings: EncoderSettings) -> WordsEncoder:
    """Returns the bag of words that representations join with an encoder.

    Of a model they are its own words, of several joined ones those of all; beside a function of the
    user's own, those of ``settings``.

    Raises:
        FileNotFoundError: word vectors are not there.
        ValueError: joined models have different word vectors.
    """
    models = _models_of(encoder)
    if len({model.vectors.checksum for model in models}) > 1:
        raise ValueError(
            "join_words: the joined models have different word vectors, so that no mean is that of "
            "all; leave join_words out, or join models of the same vectors"
        )
    return WordsEncoder(models[0].vectors, settings) if models else words_encoder(settings)


def _models_of(encoder: Encoder) -> list[TextEncoder]:
    """Returns the models that an encoder consists of; none of a function or a bag of words."""
    from models.encoding.text_encoder import TextEncoder

    parts = encoder.encoders if isinstance(encoder, JoinedEncoder) else [encoder]
    return [part for part in parts if isinstance(part, TextEncoder)]


def _joined(parts: Sequence[ModelViews], settings: EncoderSettings) -> JoinedEncoder:
    """Returns views of models, each model loaded once."""
    from models.encoding.text_encoder import load_text_encoder

    folders = dict.fromkeys(part.folder.resolve() for part in parts)
    loaded = {folder: load_text_encoder(folder, settings) for folder in folders}
    return JoinedEncoder(
        [EncoderViews(loaded[part.folder.resolve()], part.views, part.name) for part in parts]
    )


def _own(called: str, settings: EncoderSettings) -> Encoder:
    """Returns a user's encoder, as it is if it gives views, else with its answers checked."""
    found, function = import_encoder(called)
    if isinstance(found, ViewEncoder):
        return found
    size = DEFAULT_BATCH_SIZE if settings.batch_size is None else settings.batch_size
    return CallableEncoder(function, called, batch_size=size)
