"""From an encoder's name to the encoder: a model, a baseline, a function, or several models.

torch is loaded where a model needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from treeviews.models.config.training_presets import SIF_WORDS
from treeviews.models.config.views import needed_stages
from treeviews.models.encoding.encoder import Encoder, EncoderSettings, ModelPart, OnRefusal
from treeviews.models.encoding.encoder_names import (
    BAG_OF_WORDS,
    OF_A_RUN,
    WORDS_VIEW,
    EncoderName,
    ModelViews,
    chosen_views,
    parse_encoder_name,
)
from treeviews.models.encoding.own_encoder import OwnFunction, import_function
from treeviews.models.encoding.view_models import (
    MeanModel,
    ViewModel,
    is_mean,
    load_mean_model,
    untrained_mean_model,
)
from treeviews.models.model.hub import SCHEME
from treeviews.models.model.model_description import (
    MODEL_FILE,
    OPTION_OF_STAGE,
    read_model_description,
)
from treeviews.models.words.word_vectors import WordVectors, load_word_vectors
from treeviews.pipeline.base.bundled import BUNDLED_VECTORS


def load_encoder(called: str, settings: EncoderSettings | None = None) -> Encoder:
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
    if name.kind in OF_A_RUN:
        raise ValueError(
            f"encoder {called!r}: only a run of Luigi knows what it trained; give the folder of "
            f"the model, one of this name as ./{called}"
        )
    source: Sequence[ModelPart] | OwnFunction
    if name.kind == "function":
        source = OwnFunction(import_function(called), called)
    elif name.kind == "joined":
        source = _parts(name.parts, settings)
    else:
        source = [(_model(name, settings), ())]
    return Encoder(source, called, settings, partial(load_encoder, called, settings))


def _model(name: EncoderName, settings: EncoderSettings) -> ViewModel:
    if name.kind == "model":
        return _model_in(name.parts[0].folder, settings)
    if name.kind == BAG_OF_WORDS:
        return MeanModel(_word_vectors(settings))
    if name.kind == "sif":
        settings = settings.changed(config=SIF_WORDS)
    if is_mean(settings.config, settings.device):
        return untrained_mean_model(settings.config, _word_vectors(settings))
    from treeviews.models.encoding.torch_model import random_torch_model

    return random_torch_model(name.seed or 0, settings)


def _word_vectors(settings: EncoderSettings) -> WordVectors:
    return load_word_vectors(settings.vectors or BUNDLED_VECTORS)


def _model_in(folder: Path, settings: EncoderSettings) -> ViewModel:
    """Returns the model of a folder; torch is loaded where it computes more than a mean of words.

    Raises:
        FileNotFoundError: no model there.
        ValueError: see `load_torch_model`.
    """
    if settings.dependency_parser is None and settings.constituency_parser is None:
        mean = load_mean_model(folder, settings.device, settings.vectors)
        if mean is not None:
            return mean
    from treeviews.models.encoding.torch_model import load_torch_model

    return load_torch_model(folder, settings)


def _parts(parts: Sequence[ModelViews], settings: EncoderSettings) -> list[ModelPart]:
    """Returns views of models, each model loaded once, with the settings that concern it.

    Raises:
        ValueError: a model has no such view; names the model.
    """
    takes = {}
    for folder in dict.fromkeys(part.folder.resolve() for part in parts):
        description = read_model_description(folder)
        takes[folder] = {OPTION_OF_STAGE[s] for s in needed_stages(description.config.views)}
        takes[folder] |= set() if description.vectors.are_settled else {"vectors"}
    by_any = set().union(*takes.values())
    models = {}
    for folder, own in takes.items():
        others: dict[str, Any] = dict.fromkeys(by_any - own)  # what none takes stays, to be refused
        models[folder] = _model_in(folder, settings.changed(**others))
    for part in parts:
        try:
            chosen_views(list(models[part.folder.resolve()].views), part.views)
        except ValueError as error:
            raise ValueError(f"{part.name}: {error}") from error
    return [(models[part.folder.resolve()], part.views) for part in parts]


def words_beside(encoder: Encoder, settings: EncoderSettings) -> Encoder:
    """Returns the bag of words that representations join with an encoder.

    Of a model they are its own words, of several joined ones those of all; beside a function of the
    user's own, those of ``settings``.

    Raises:
        FileNotFoundError: word vectors are not there.
        ValueError: joined models have different word vectors.
    """
    readers = [model.reader for model in encoder.models if WORDS_VIEW not in model.views]
    words = {reader.vectors.checksum: reader.vectors for reader in readers}
    if len(words) > 1:
        raise ValueError(
            "join_words: the joined models have different word vectors, so that no mean is that of "
            "all; leave join_words out, or join models of the same vectors"
        )
    vectors = next(iter(words.values())) if words else _word_vectors(settings)
    return Encoder([(MeanModel(vectors), ())], BAG_OF_WORDS, settings)


def encoder_of(given: object, *, device: str = "cpu", on_refusal: OnRefusal = "error") -> Encoder:
    """Returns the encoder that something stands for; one by name is kept until another is asked.

    Args:
        given: a name or folder, an encoder, or a function from strings to a matrix.
        device: of one by name.
        on_refusal: of one by name.

    Raises:
        FileNotFoundError: no such encoder.
        ValueError: see `load_encoder`; or it is nothing that encodes.
    """
    if isinstance(given, Encoder):
        return given
    if isinstance(given, str | Path):
        called = str(given)
        # A hub is asked once: what a name of its stands for is not looked up for the key.
        parts = () if SCHEME in called else parse_encoder_name(called).parts
        written = tuple((part.folder.resolve(), _time_written(part.folder)) for part in parts)
        return _kept(called, EncoderSettings(device=device, on_refusal=on_refusal), written)
    function: Any = getattr(given, "encode", given)
    if not callable(function):
        raise ValueError(
            f"{type(given).__name__} is no encoder; give a name, a model's folder, an object "
            "with a method encode, or a function from a list of strings to a matrix [n, d]"
        )
    name = getattr(given, "__name__", type(given).__name__)
    return Encoder(OwnFunction(function, name), name)


@lru_cache(maxsize=1)
def _kept(called: str, settings: EncoderSettings, written: tuple[tuple[Path, int], ...]) -> Encoder:
    del written  # part of the key only: the model of a folder may be trained again
    return load_encoder(called, settings)


def _time_written(folder: Path) -> int:
    """Returns when a model's folder was written, 0 of what is none."""
    file = folder / MODEL_FILE
    return file.stat().st_mtime_ns if file.is_file() else 0


def vectors_of(given: Any, encoder: object) -> Any:
    """Returns vectors as they are, and sentences encoded.

    Args:
        given: vectors, one string, or a list of strings.
        encoder: see `encoder_of`.

    Raises:
        ValueError: a list of strings and something else.
    """
    is_list = isinstance(given, list | tuple) and len(given) > 0 and isinstance(given[0], str)
    return encoder_of(encoder).encode(given) if is_list or isinstance(given, str) else given
