"""From an encoder's name to the encoder: a model, a baseline, a user's own function, or several.

Views of several models stand as those of one: ensembles of views that were trained apart, such as
Tang & de Sa 2018, table 6, has beside the models whose views were trained together. torch is loaded
where an encoder needs it.

Legend: n sentences, H width of a view, d width of all views together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from models.config.training_presets import SIF_WORDS
from models.config.views import Pooling, needed_stages
from models.encoding.encoder_interface import (
    Encoder,
    FloatArray,
    MeasuredEncoder,
    ViewEncoder,
    chosen_views,
    name_of,
    view_and_pooling,
)
from models.encoding.encoder_names import EncoderName, ModelViews, parse_encoder_name
from models.encoding.own_encoder import (
    DEFAULT_BATCH_SIZE,
    CallableEncoder,
    Function,
    import_encoder,
)
from models.encoding.reading_encoder import (
    EncoderSettings,
    ReadingEncoder,
    WordsEncoder,
    read_side_by_side,
)
from models.encoding.static_encoder import (
    is_static,
    load_static_encoder,
    untrained_static_encoder,
)
from models.encoding.string_encoder import (
    LAST,
    Asked,
    Progress,
    StringEncoder,
)
from models.model.model_description import (
    OPTION_OF_STAGE,
    ModelDescription,
    read_model_description,
)
from models.words.word_vectors import WordVectors, load_word_vectors
from pipeline.base.bundled import BUNDLED_VECTORS
from pipeline.base.digest import digest_of
from pipeline.base.foreign_text import listed_strings
from pipeline.base.refusal import RefusedSentence


def resolve_encoder(called: str, settings: EncoderSettings | None = None) -> Encoder:
    """Returns the encoder of this name; loads what it needs.

    Args:
        called: see `models.encoding.encoder_names`.

    Raises:
        FileNotFoundError: word vectors are not there, or no model is.
        ValueError: the name stands for nothing, for what is no encoder, or for what Luigi alone
            knows; or a model has no such view.
    """
    return _resolved(parse_encoder_name(called), settings or EncoderSettings())


def string_encoder(called: str, settings: EncoderSettings | None = None) -> StringEncoder:
    """Returns the encoder of this name as one that answers in every form.

    An object of the user's own with views is one, too, and is asked for its embeddings alone.

    Raises:
        FileNotFoundError, ValueError: see `resolve_encoder`.
    """
    encoder = resolve_encoder(called, settings)
    if isinstance(encoder, StringEncoder):
        return encoder
    return own_encoder(encoder.encode, called, settings or EncoderSettings())


def own_encoder(function: Function, name: str, settings: EncoderSettings) -> CallableEncoder:
    """Returns a function of the user's own as an encoder whose answers are checked.

    Args:
        function: from a list of strings to a matrix.
        name: for messages.
        settings: of which the size of batches counts.
    """
    size = DEFAULT_BATCH_SIZE if settings.batch_size is None else settings.batch_size
    return CallableEncoder(function, name, batch_size=size)


def _resolved(name: EncoderName, settings: EncoderSettings) -> Encoder:
    match name.kind:
        case "bag_of_words":
            return words_encoder(settings)
        case "random":
            assert name.seed is not None
            return _untrained(name.seed, settings)
        case "sif":
            return _untrained(0, settings.changed(config=SIF_WORDS))
        case "model":
            return model_encoder(name.parts[0].folder, settings)
        case "joined":
            return _joined(name.parts, settings)
        case "function":
            return _own(name.called, settings)
    raise ValueError(
        f"encoder {name.called!r}: only a run of Luigi knows what it trained; give the folder of "
        f"the model, one of this name as ./{name.called}"
    )


def model_encoder(folder: Path, settings: EncoderSettings) -> ReadingEncoder:
    """Returns the model of a folder; torch is loaded where it computes more than a mean of words.

    Raises:
        FileNotFoundError: no model there.
        ValueError: see `models.encoding.text_encoder.load_text_encoder`.
    """
    static = load_static_encoder(folder, settings)
    if static is not None:
        return static
    from models.encoding.text_encoder import load_text_encoder

    return load_text_encoder(folder, settings)


def _untrained(seed: int, settings: EncoderSettings) -> ReadingEncoder:
    if is_static(settings.config, settings):
        vectors = load_word_vectors(settings.vectors or BUNDLED_VECTORS)
        return untrained_static_encoder(vectors, settings)
    from models.encoding.text_encoder import random_text_encoder

    return random_text_encoder(seed, settings)


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
    found = _words_of_models(encoder)
    if len({vectors.checksum for vectors in found}) > 1:
        raise ValueError(
            "join_words: the joined models have different word vectors, so that no mean is that of "
            "all; leave join_words out, or join models of the same vectors"
        )
    return WordsEncoder(found[0], settings) if found else words_encoder(settings)


def _words_of_models(encoder: Encoder) -> list[WordVectors]:
    """Returns the words of the models of which an encoder consists; a bag of words is none."""
    parts = encoder.encoders if isinstance(encoder, JoinedEncoder) else [encoder]
    models = (part for part in parts if isinstance(part, ReadingEncoder))
    return [part.vectors for part in models if not isinstance(part, WordsEncoder)]


def _joined(parts: Sequence[ModelViews], settings: EncoderSettings) -> JoinedEncoder:
    """Returns views of models, each model loaded once."""
    folders = dict.fromkeys(part.folder.resolve() for part in parts)
    taken = {folder: _settings_taken(read_model_description(folder)) for folder in folders}
    by_any = set().union(*taken.values())
    loaded = {}
    for folder, own in taken.items():
        others: dict[str, Any] = dict.fromkeys(by_any - own)  # what none takes stays, to be refused
        loaded[folder] = model_encoder(folder, settings.changed(**others))
    return JoinedEncoder(
        [EncoderViews(loaded[part.folder.resolve()], part.views, part.name) for part in parts]
    )


def _settings_taken(model: ModelDescription) -> set[str]:
    """Returns which of the settings that say where something lies concern a model."""
    parsers = {OPTION_OF_STAGE[stage] for stage in needed_stages(model.config.views)}
    return parsers if model.vectors.are_settled else {*parsers, "vectors"}


def _own(called: str, settings: EncoderSettings) -> Encoder:
    """Returns a user's encoder, as it is if it gives views, else with its answers checked."""
    found, function = import_encoder(called)
    if isinstance(found, ViewEncoder):
        return found
    return own_encoder(function, called, settings)


@dataclass(frozen=True, slots=True, eq=False)
class EncoderViews:
    """An encoder and which of its views are taken."""

    encoder: MeasuredEncoder
    views: tuple[str, ...] = ()
    """See `chosen_views`; none named takes all."""
    name: str = ""
    """For messages."""


class JoinedEncoder(StringEncoder):
    """Gives the views of several encoders, numbered through: ``0-SEQ``, ``1-LIN``.

    A sentence that one of them cannot take is zeros in all views, as it is where one encoder has
    them all. An encoder of which several views are taken is asked once.
    """

    def __init__(self, parts: Sequence[EncoderViews]) -> None:
        """Takes the views in the order of the parts, of each in its encoder's order.

        Raises:
            ValueError: no part, a view that its encoder has not, or one that is taken twice.
        """
        if not parts:
            raise ValueError("a joined encoder needs at least one encoder")
        self.encoders: tuple[MeasuredEncoder, ...] = tuple(
            {id(part.encoder): part.encoder for part in parts}.values()
        )
        """Each once, whose embeddings make up those of the whole."""
        self._sources = [source for part in parts for source in self._sources_of(part)]
        taken = [(self.encoders[place].digest, view) for place, view in self._sources]
        if doubled := sorted({view for digest, view in taken if taken.count((digest, view)) > 1}):
            raise ValueError(f"views {', '.join(doubled)} of one encoder are joined twice")
        self.refused: list[RefusedSentence] = []
        """Sentences of the last call that became zeros."""

    def _sources_of(self, part: EncoderViews) -> list[tuple[int, str]]:
        """Returns each view that a part gives: place of the encoder, name there."""
        available = dict.fromkeys(view_and_pooling(key)[0] for key in part.encoder.widths())
        try:
            views = chosen_views(list(available), part.views)
        except ValueError as error:
            raise ValueError(f"{part.name}: {error}" if part.name else str(error)) from error
        place = next(i for i, one in enumerate(self.encoders) if one is part.encoder)
        return [(place, view) for view in views]

    @cached_property
    def digest(self) -> str:
        """Of the encoders' digests and the views that are taken, in their order."""
        views = [[self.encoders[place].digest, view] for place, view in self._sources]
        return digest_of({"joined": views})

    def widths(self, pooling: Sequence[Pooling] = ("last",)) -> dict[str, int]:
        """Returns the width of each array of `encode_views`, by its key and in its order."""
        found = [encoder.widths(pooling) for encoder in self.encoders]
        return {key: found[place][own] for key, place, own in self._keys(found)}

    def _vectors(
        self, sentences: Sequence[str], asked: Asked, on_progress: Progress | None
    ) -> FloatArray:
        views = self.encode_views(
            sentences, asked.pooling, batch_size=asked.batch_size, on_progress=on_progress
        )
        return np.concatenate(list(views.values()), axis=1)

    def encode_views(
        self,
        sentences: Sequence[str],
        pooling: Sequence[Pooling] = LAST,
        *,
        batch_size: int | None = None,
        on_progress: Progress | None = None,
    ) -> dict[str, FloatArray]:
        """Returns each view's vectors, float32 [n, H], by view and pooling (``0-SEQ.last``).

        Args:
            sentences: raw text; each string is one sentence.
            pooling: how a view's states become one vector.
            batch_size: sentences that those encoders embed at once which can be told.
            on_progress: told the share of the sentences done, by all encoders together.

        Raises:
            ValueError: an encoder's, of sentences that it cannot take if that is an error.
        """
        sentences = listed_strings(sentences)
        views, refused = [], []
        readers = [one for one in self.encoders if isinstance(one, ReadingEncoder)]
        read = read_side_by_side(readers, sentences, pooling, batch_size, on_progress)
        for encoder in self.encoders:
            if not isinstance(encoder, ReadingEncoder):
                views.append(encoder.encode_views(sentences, pooling))
            else:
                views.append(next(read))
            refused.append(tuple(getattr(encoder, "refused", ())))
        joined, together = self.join(views, refused)
        self.refused = list(together)
        return joined

    def join(
        self,
        views: Sequence[Mapping[str, FloatArray]],
        refused: Sequence[Sequence[RefusedSentence]],
    ) -> tuple[dict[str, FloatArray], tuple[RefusedSentence, ...]]:
        """Returns the views of the whole and the sentences that are zeros in them.

        Of several reasons for zeros the first one counts.

        Args:
            views: of each of `encoders`.
            refused: sentences that each of them could not take.
        """
        together = {refusal.index: refusal for part in reversed(refused) for refusal in part}
        zeros = sorted(together)
        joined = {}
        for key, place, own in self._keys(views):
            matrix = views[place][own]
            if len(zeros) > len(refused[place]):
                matrix = matrix.copy()
                matrix[zeros] = 0.0
            joined[key] = matrix
        return joined, tuple(together[index] for index in zeros)

    def _keys(self, found: Sequence[Mapping[str, object]]) -> list[tuple[str, int, str]]:
        """Returns each key of the whole with its encoder's place and its key there."""
        keys = []
        for number, (place, view) in enumerate(self._sources):
            for own in found[place]:
                given, pooling = view_and_pooling(own)
                if given == view:
                    keys.append((f"{number}-{name_of(view)}.{pooling}", place, own))
        return keys
