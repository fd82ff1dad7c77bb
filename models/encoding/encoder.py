"""The encoder of sentences: strings in, vectors out, whatever makes them.

Views of one or several models, or a function of the user's own, make the vectors. Views of several
models stand as those of one: ensembles of views that were trained apart, such as Tang & de Sa 2018,
table 6, has beside the models whose views were trained together.

Legend: n sentences, H width of a view, d width of all views together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypedDict, get_args

import numpy as np

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import PRESETS
from treeviews.models.config.views import Pooling
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.encoding.encoder_names import OPAQUE_VIEW, chosen_views, key_of, name_of
from treeviews.models.encoding.own_encoder import OwnFunction, Progress
from treeviews.models.encoding.search import FloatArray, normalized, similarity, similarity_pairwise
from treeviews.models.encoding.sentence_reader import (
    SENTENCES_AT_ONCE,
    TOKENS,
    Piece,
    SentenceReader,
    Tables,
)
from treeviews.models.encoding.view_models import ViewModel
from treeviews.models.model.model_description import OPTION_OF_STAGE
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.base.foreign_text import listed_strings
from treeviews.pipeline.base.refusal import RefusedSentence, named
from treeviews.pipeline.base.settings import Option, Settings, at_least

OnRefusal = Literal["error", "zero"]
LAST: tuple[Pooling, ...] = ("last",)
ANY_SENTENCE = "It rains ."
"""What a function of the user's own is asked for where its width alone is wanted."""


class EncoderSettings(Settings):
    """What encoders are made with, each taking what concerns it.

    Machine, batches and refusals change nothing of the embedding of a sentence that can be taken.
    """

    called: ClassVar[str] = "encoder setting"

    device: Annotated[str, Option()] = "cpu"
    """Device: cpu, cuda, cuda:1, …"""
    batch_size: Annotated[int | None, at_least(1), Option()] = None
    """Sentences per batch, fewer if they are long; default: depends on the kind of encoder."""
    on_refusal: OnRefusal = "zero"
    """A sentence that cannot be taken ends it all, or is a vector of zeros and listed."""
    vectors: Annotated[Path | None, Option()] = None
    """Word vectors; default: those of the model, or the bundled ones."""
    dependency_parser: Annotated[Path | None, Option()] = None
    """Folder or bundled name of the parser for the view DEP; default: the model's parser."""
    constituency_parser: Annotated[Path | None, Option()] = None
    """Folder or bundled name of the parser for the view CONST; default: the model's parser."""
    parses: Path | None = None
    """Folder that keeps tokens and parses, for all encoders that read the same sentences."""
    config: TrainingConfig = PRESETS["laptop"]
    """Whose architecture an untrained encoder has."""

    def parser(self, stage: str) -> Path | None:
        """Returns where the parser of a stage lies, if that is said."""
        path: Path | None = getattr(self, OPTION_OF_STAGE[stage])
        return path


class EncodeOptions(TypedDict, total=False):
    """What `Encoder.encode` takes beside the sentences, for those that hand it on."""

    pooling: Pooling | Sequence[Pooling]
    batch_size: int | None
    show_progress: bool
    normalize: bool


ModelPart = tuple[ViewModel, tuple[str, ...]]
"""A model and which of its views are taken, see `chosen_views`; none named takes all."""


class Encoder:
    """Encodes one string or many, and compares what comes out.

    Views of several models, or some of one, are numbered through: ``0-SEQ``, ``1-LIN``. Models go
    through the sentences together, so that each piece is tokenized and parsed once for all that
    have the same parsers. A sentence that one of them cannot take is zeros in all views, as it is
    where one model has them all. A model of which several views are taken is asked once.

    May be pickled: an encoder that was loaded by its name is loaded again by it.
    """

    def __init__(
        self,
        source: Sequence[ModelPart] | OwnFunction,
        name: str = "",
        settings: EncoderSettings | None = None,
        loaded_by: Callable[[], Encoder] | None = None,
    ) -> None:
        """Takes what makes the vectors; `models.encoding.load_encoder` makes the usual ones.

        Args:
            source: views in the order of their models, of each in its own order; or a function.
            settings: batches, parses that are kept, and what becomes of refused sentences.
            loaded_by: gives the same encoder in another process, of one that was loaded.

        Raises:
            ValueError: a view that its model has not, or one that is taken twice.
        """
        self.name = name
        self._settings = settings or EncoderSettings()
        self._loaded_by = loaded_by or partial(Encoder, source, name, settings)
        self.refused: list[RefusedSentence] = []
        """Sentences of the last call that became zeros."""
        self._function = source if isinstance(source, OwnFunction) else None
        parts = [] if isinstance(source, OwnFunction) else source
        self.models = list({id(model): model for model, _ in parts}.values())
        """The models whose views are taken, each once; none of a function."""
        self._views = [
            (self.models.index(model), view)
            for model, views in parts
            for view in chosen_views(list(model.views), views)
        ]
        """Place of the model that gives each, and its name there."""
        self._is_joined = len(parts) > 1 or any(views for _, views in parts)
        given = self._digests() if self._is_joined else []
        if doubled := sorted({view for one, view in given if given.count([one, view]) > 1}):
            raise ValueError(f"views {', '.join(doubled)} of one encoder are joined twice")

    def __repr__(self) -> str:
        width = f", dimension={self.dimension}" if self.has_views else ""
        return f"Encoder({self.name!r}{width})"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._loaded_by, ()

    def encode(
        self,
        sentences: str | Iterable[str],
        *,
        pooling: Pooling | Sequence[Pooling] = LAST,
        batch_size: int | None = None,
        show_progress: bool = False,
        normalize: bool = False,
    ) -> FloatArray:
        """Returns the embeddings, float32: all views and poolings side by side.

        ``encode(["It rains.", "It pours."])`` gives [2, d] in the order of the sentences,
        ``encode("It rains.")`` gives [d]. There are no prompts: a sentence is encoded as it is.
        May be called by several threads at once; those that compute states take turns.

        Args:
            sentences: raw text; each string is one sentence, whatever it holds.
            pooling: how a view's states become one vector, such as ``mean``; several stand side by
                side.
            batch_size: sentences embedded at once, fewer where they are long; None takes what the
                encoder was loaded with. It changes nothing but rounding, speed and memory.
            show_progress: whether to draw a bar on standard error.
            normalize: whether to give each embedding length 1; one of zeros stays one.

        Raises:
            ValueError: no strings, an option out of range, or sentences that cannot be taken where
                the encoder was loaded with ``on_refusal="error"``: names those of the first 2,048
                sentences with any, the reasons and the remedy.
        """
        poolings = (pooling,) if isinstance(pooling, str) else tuple(pooling)
        texts = [sentences] if isinstance(sentences, str) else listed_strings(sentences)
        with progress_bar(len(texts), show=show_progress) as on_progress:
            views = self._encoded(texts, poolings, batch_size, on_progress)
            vectors = _side_by_side(views)
        if normalize:
            vectors = normalized(vectors)
        return vectors[0] if isinstance(sentences, str) else vectors

    def encode_views(
        self, sentences: Iterable[str], pooling: Sequence[Pooling] = LAST
    ) -> dict[str, FloatArray]:
        """Returns each view's vectors, float32 [n, H], by view and pooling (``0-DEP.last``).

        A bag of words has no last state; its mean stands for it, once if both are asked for.

        Raises:
            ValueError: see `encode`.
        """
        return self._encoded(listed_strings(sentences), tuple(pooling))

    def encode_rows(self, rows: Tables) -> tuple[FloatArray, list[RefusedSentence]]:
        """Returns the embeddings, [n, d], of sentences that are tokenized and parsed, such as rows
        of a corpus, and those that became zeros.

        Args:
            rows: the parses that the views read must be among them, by this encoder's parsers.

        Raises:
            ValueError: as in `encode`.
        """
        return _side_by_side(self._encoded(rows, LAST)), self.refused

    def _encoded(
        self,
        sentences: Sequence[str] | Tables,
        pooling: Sequence[Pooling],
        batch_size: int | None = None,
        on_progress: Progress | None = None,
    ) -> dict[str, FloatArray]:
        """Returns the vectors, [n, H] by key; notes which sentences are zeros."""
        check_pooling(pooling)
        if batch_size is not None and (isinstance(batch_size, bool) or batch_size < 1):
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        size = batch_size or self._settings.batch_size
        if self._function is not None:
            assert not isinstance(sentences, Mapping), "a function reads text"
            self.refused = []
            vectors = self._function.encode(sentences, pooling, size, on_progress)
            return {key_of(OPAQUE_VIEW, "last"): vectors}
        count = sentences[TOKENS].num_rows if isinstance(sentences, Mapping) else len(sentences)
        arrays = [
            {key: np.zeros((count, width), np.float32) for key, width in m.widths(pooling).items()}
            for m in self.models
        ]
        zeros: dict[int, RefusedSentence] = {}
        for start in range(0, count, SENTENCES_AT_ONCE):
            read = self._reading(sentences, start)
            for model, own in zip(self.models, arrays, strict=True):
                with model.turn:
                    block, refused = read(model.reader)
                    for batch in model.batches(block, size):
                        for key, vectors in model.embed(batch, pooling).items():
                            own[key][batch.rows] = vectors
                zeros = {refusal.index: refusal for refusal in refused} | zeros
            if on_progress is not None:
                on_progress(min(1.0, (start + SENTENCES_AT_ONCE) / count))
        rows = sorted(zeros)
        self.refused = [zeros[row] for row in rows]
        views = {key: arrays[place][own] for key, place, own in self._keys(pooling)}
        if len(self.models) > 1 and rows:
            for matrix in views.values():
                matrix[rows] = 0.0
        return views

    def _reading(
        self, sentences: Sequence[str] | Tables, start: int
    ) -> Callable[[SentenceReader], tuple[SentenceBlock, list[RefusedSentence]]]:
        """Returns what has a model's reader read the sentences from ``start`` on."""
        if isinstance(sentences, Mapping):
            rows = {
                stage: rows.slice(start, SENTENCES_AT_ONCE) for stage, rows in sentences.items()
            }
            return lambda reader: reader.read_tables(rows, start, self._fail_if_any)
        texts = sentences[start : start + SENTENCES_AT_ONCE]
        piece = Piece(texts, start, self._settings.parses)
        return lambda reader: reader.read(piece, self._fail_if_any)

    def _keys(self, pooling: Sequence[Pooling]) -> list[tuple[str, int, str]]:
        """Returns each key of the whole with its model's place and its key there."""
        return [
            (key_of(f"{number}-{name_of(view)}", name) if self._is_joined else own, place, own)
            for number, (place, view) in enumerate(self._views)
            for name in self.models[place].poolings(pooling)
            for own in [key_of(view, name)]
        ]

    def _fail_if_any(self, refused: Sequence[RefusedSentence]) -> None:
        """Refuses sentences that cannot be taken, where that is an error.

        Raises:
            ValueError: names them, the reasons and the remedy.
        """
        if refused and self._settings.on_refusal == "error":
            raise ValueError(
                f"{named(refused)}; leave out what cannot be taken, or give on_refusal='zero' for "
                "a vector of zeros in its place"
            )

    @property
    def has_views(self) -> bool:
        """Whether the embedding consists of views of models; a function's is one matrix."""
        return self._function is None

    @cached_property
    def digest(self) -> str:
        """Of everything that determines the embeddings of a sentence: the models' digests and the
        views that are taken, in their order; empty of a function, whose changes nothing tells."""
        if not self.has_views:
            return ""
        return digest_of({"joined": self._digests()}) if self._is_joined else self.models[0].digest

    def _digests(self) -> list[list[str]]:
        return [[self.models[place].digest, view] for place, view in self._views]

    @property
    def parsers(self) -> dict[str, str]:
        """Parse stage that the views read -> checksum of its parser."""
        return {
            stage: parser for model in self.models for stage, parser in model.reader.parsers.items()
        }

    @property
    def device(self) -> str:
        """Where it computes."""
        return next((model.device for model in self.models), "cpu")

    def widths(self, pooling: Sequence[Pooling] = LAST) -> dict[str, int]:
        """Returns the width of each array of `encode_views`, by its key and in its order.

        A function tells its width by its answer alone.
        """
        assert self.has_views
        return {
            key: self.models[place].widths(pooling)[own] for key, place, own in self._keys(pooling)
        }

    @cached_property
    def dimension(self) -> int:
        """d; of a function, that of its answer for one sentence."""
        if self.has_views:
            return sum(self.widths().values())
        return int(self.encode([ANY_SENTENCE]).shape[1])

    similarity = staticmethod(similarity)
    """See `models.encoding.search.similarity`."""
    similarity_pairwise = staticmethod(similarity_pairwise)
    """See `models.encoding.search.similarity_pairwise`."""


def _side_by_side(views: Mapping[str, FloatArray]) -> FloatArray:
    first, *others = views.values()
    return np.concatenate([first, *others], axis=1) if others else first


def check_pooling(pooling: Sequence[Pooling]) -> None:
    """Refuses poolings that cannot stand side by side.

    Raises:
        ValueError: one is unknown or named twice, or none is named.
    """
    unknown = [name for name in pooling if name not in get_args(Pooling)]
    if unknown or not pooling or len(set(pooling)) < len(pooling):
        raise ValueError(
            f"pooling must name one or several of {', '.join(get_args(Pooling))}, got "
            f"{list(pooling)}"
        )


@contextmanager
def progress_bar(total: int, *, show: bool) -> Iterator[Progress | None]:
    """Yields what moves a bar on standard error, or None where none is to be shown.

    Args:
        total: sentences.
    """
    if not show:
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit="sentence") as bar:
        yield lambda share: bar.update(round(share * total) - bar.n)
