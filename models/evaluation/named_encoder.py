"""From an encoder's name to the encoder: a model's folder, a baseline, or a user's own function."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from models.evaluation.callable_encoder import CallableEncoder, import_encoder
from models.evaluation.encoder import Encoder, ViewEncoder
from models.evaluation.joined_spec import FORM, is_joined, joined_models
from models.training_config import TrainingConfig
from models.training_presets import PRESETS
from models.views import needed_stages
from pipeline.bundled import BUNDLED_PARSERS, BUNDLED_VECTORS

if TYPE_CHECKING:
    from models.text.joined_encoder import JoinedEncoder
    from models.text.reading_encoder import EncodingSettings, OnRefusal
    from models.text.words_encoder import WordsEncoder
    from models.text_encoder import ParserPaths, TextEncoder

BAG_OF_WORDS = "bag_of_words"
_RANDOM = re.compile(r"random-(\d+)")

FORMS = (
    f"{BAG_OF_WORDS}, random-SEED, the folder of a model, views of such folders as {FORM}, or "
    "package.module:name of a function from a list of strings to a matrix"
)


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    """What encoders are made with, each taking what concerns it."""

    device: str = "cpu"
    batch_size: int | None = None
    """Sentences at once; None takes what the kind of encoder has by default."""
    on_refusal: OnRefusal = "zero"
    """What becomes of a sentence that cannot be taken, see `models.load`."""
    vectors: Path | None = None
    """Word vectors; by default a model's own, and for baselines those that ship."""
    dependency_parser: Path | None = None
    """By default a model's own, and for untrained ones that which ships."""
    constituency_parser: Path | None = None
    parses: Path | None = None
    """Folder of tokens and parses that encoders share; None keeps none."""
    config: TrainingConfig = PRESETS["laptop"]
    """Whose architecture an untrained encoder has."""


def resolve_encoder(spec: str, settings: EncoderSettings | None = None) -> Encoder:
    """Returns the encoder of this name; loads what it needs.

    Args:
        spec: ``bag_of_words``; ``random-0``, the architecture of ``settings.config`` with untrained
            weights of that seed; a model's folder; ``MODEL@VIEW+MODEL@VIEW``, see
            `models.evaluation.joined_spec`; or ``package.module:name``, see `import_encoder`.

    Raises:
        FileNotFoundError: word vectors are not there, or no model is.
        ValueError: the name stands for nothing, or for what is no encoder, or a model has no such
            view.
    """
    settings = settings or EncoderSettings()
    if spec == BAG_OF_WORDS:
        return words_encoder(settings)
    if (seed := _RANDOM.fullmatch(spec)) is not None:
        return _random(int(seed[1]), settings)
    if Path(spec).is_dir():
        return _model(Path(spec), settings)
    if is_joined(spec):
        return _joined(spec, settings)
    if ":" in spec:
        return _own(spec, settings)
    raise ValueError(f"encoder {spec!r}: no such folder and no known name; give {FORMS}")


def words_encoder(settings: EncoderSettings) -> WordsEncoder:
    """Returns the bag of words.

    Raises:
        FileNotFoundError: word vectors are not there.
    """
    from models.text.words_encoder import WordsEncoder
    from models.words.vector_files import load_word_vectors

    vectors = load_word_vectors(settings.vectors or BUNDLED_VECTORS)
    return WordsEncoder(vectors, _encoding(settings))


def words_beside(encoder: Encoder, settings: EncoderSettings) -> WordsEncoder:
    """Returns the bag of words that representations join with an encoder.

    Of a model they are its own words, of several joined ones those of all; beside a function of the
    user's own, those of ``settings``.

    Raises:
        FileNotFoundError: word vectors are not there.
        ValueError: joined models have different word vectors.
    """
    from models.text.words_encoder import WordsEncoder

    models = _models_of(encoder)
    if len({model.vectors.checksum for model in models}) > 1:
        raise ValueError(
            "join_words: the joined models have different word vectors, so that no mean is that of "
            "all; leave join_words out, or join models of the same vectors"
        )
    if models:
        return WordsEncoder(models[0].vectors, _encoding(settings))
    return words_encoder(settings)


def _models_of(encoder: Encoder) -> list[TextEncoder]:
    """Returns the models that an encoder consists of; none of a function or a bag of words."""
    from models.text.joined_encoder import JoinedEncoder
    from models.text_encoder import TextEncoder

    parts = encoder.encoders if isinstance(encoder, JoinedEncoder) else [encoder]
    return [part for part in parts if isinstance(part, TextEncoder)]


def _model(folder: Path, settings: EncoderSettings) -> TextEncoder:
    from models.text_encoder import load_text_encoder

    return load_text_encoder(
        folder,
        device=settings.device,
        parsers=_paths(settings),
        vectors=settings.vectors,
        settings=_encoding(settings),
    )


def _joined(spec: str, settings: EncoderSettings) -> JoinedEncoder:
    """Returns views of models, each model loaded once."""
    from models.text.joined_encoder import EncoderViews, JoinedEncoder

    parts = joined_models(spec)
    folders = dict.fromkeys(part.folder.resolve() for part in parts)
    loaded = {folder: _model(folder, settings) for folder in folders}
    return JoinedEncoder(
        [EncoderViews(loaded[part.folder.resolve()], part.views, part.name) for part in parts]
    )


def _random(seed: int, settings: EncoderSettings) -> Encoder:
    from models.text.lazy_parser import lazy_parsers
    from models.text_encoder import random_text_encoder
    from models.words.vector_files import load_word_vectors

    given = _paths(settings)
    paths = {
        stage: getattr(given, stage) or BUNDLED_PARSERS[stage]
        for stage in needed_stages(settings.config.views)
    }
    return random_text_encoder(
        settings.config,
        load_word_vectors(settings.vectors or BUNDLED_VECTORS),
        seed,
        parsers=lazy_parsers(paths, settings.device),
        device=settings.device,
        settings=_encoding(settings),
    )


def _own(spec: str, settings: EncoderSettings) -> Encoder:
    """Returns a user's encoder, as it is if it gives views, else with its answers checked."""
    found, function = import_encoder(spec)
    if isinstance(found, ViewEncoder):
        return found
    if settings.batch_size is None:
        return CallableEncoder(function, spec)
    return CallableEncoder(function, spec, batch_size=settings.batch_size)


def _paths(settings: EncoderSettings) -> ParserPaths:
    from models.text_encoder import ParserPaths

    return ParserPaths(settings.dependency_parser, settings.constituency_parser)


def _encoding(settings: EncoderSettings) -> EncodingSettings:
    from models.text.reading_encoder import EncodingSettings

    if settings.batch_size is None:
        return EncodingSettings(on_refusal=settings.on_refusal, parses=settings.parses)
    return EncodingSettings(settings.batch_size, settings.on_refusal, settings.parses)
