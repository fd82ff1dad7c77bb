"""The encoder of sentences: strings in, vectors out, whatever makes them.

Within an `Encoder`, views of one or several models (`ViewsOfModels`) or a function of the user's
own (`OwnFunction`) make the vectors. Views of several models stand as those of one: ensembles of
views that were trained apart, such as Tang & de Sa 2018, table 6, has beside the models whose views
were trained together.

Legend: n sentences, H width of a view, d width of all views together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypedDict, get_args

import numpy as np

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import PRESETS
from treeviews.models.config.views import Pooling
from treeviews.models.encoding.encoder_names import chosen_views, name_of, view_and_pooling
from treeviews.models.encoding.own_encoder import OwnFunction, Progress
from treeviews.models.encoding.parse_cache import PieceTables
from treeviews.models.encoding.search import FloatArray, normalized, similarity, similarity_pairwise
from treeviews.models.encoding.sentence_reader import (
    SENTENCES_AT_ONCE,
    ParsedRows,
    ReadSentences,
    SentenceReader,
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
    """Where to compute: cpu, cuda, cuda:1, ..."""
    batch_size: Annotated[int | None, at_least(1), Option()] = None
    """Sentences at once, fewer where they are long; by default what suits the kind of encoder."""
    on_refusal: OnRefusal = "zero"
    """A sentence that cannot be taken ends it all, or is a vector of zeros and listed."""
    vectors: Annotated[Path | None, Option()] = None
    """Word vectors; by default a model's own, wherever the model says or those that ship."""
    dependency_parser: Annotated[Path | None, Option()] = None
    """Of the view DEP: a folder, or the name of one that ships; by default the model's own."""
    constituency_parser: Annotated[Path | None, Option()] = None
    """Of the view CONST: a folder, or the name of one that ships; by default the model's own."""
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


class Encoder:
    """Encodes one string or many, and compares what comes out.

    May be pickled: an encoder that was loaded by its name is loaded again by it.
    """

    def __init__(
        self,
        strategy: ViewsOfModels | OwnFunction,
        name: str = "",
        loaded_by: Callable[[], Encoder] | None = None,
    ) -> None:
        """Takes what makes the vectors; `models.encoding.load_encoder` makes the usual ones.

        Args:
            loaded_by: gives the same encoder in another process, of one that was loaded.
        """
        self.name = name
        self._loaded_by = loaded_by
        self.refused: list[RefusedSentence] = []
        """Sentences of the last call that became zeros."""
        self._strategy = strategy

    def __repr__(self) -> str:
        width = f", dimension={self.dimension}" if self.has_views else ""
        return f"Encoder({self.name!r}{width})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._loaded_by is not None:
            return self._loaded_by, ()
        return Encoder, (self._strategy, self.name)

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
                the encoder was loaded with ``on_refusal="error"``: names them, the reasons and the
                remedy. All empty and too long ones are found before any is parsed.
        """
        poolings = (pooling,) if isinstance(pooling, str) else tuple(pooling)
        texts = [sentences] if isinstance(sentences, str) else listed_strings(sentences)
        with progress_bar(len(texts), show=show_progress) as on_progress:
            vectors = _side_by_side(self._views(texts, poolings, batch_size, on_progress))
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
        return self._views(listed_strings(sentences), tuple(pooling), None, None)

    def _views(
        self,
        sentences: Sequence[str],
        pooling: Sequence[Pooling],
        batch_size: int | None,
        on_progress: Progress | None,
    ) -> dict[str, FloatArray]:
        check_pooling(pooling)
        if batch_size is not None and (isinstance(batch_size, bool) or batch_size < 1):
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        views, self.refused = self._strategy.encode(sentences, pooling, batch_size, on_progress)
        return views

    def encode_rows(
        self, rows: ParsedRows, pooling: Sequence[Pooling] = LAST
    ) -> tuple[FloatArray, list[RefusedSentence]]:
        """Returns the embeddings, [n, d], of sentences that are tokenized and parsed, such as rows
        of a corpus, and those that became zeros.

        Args:
            rows: the parses that the views read must be among them, by this encoder's parsers.

        Raises:
            ValueError: as in `encode`.
        """
        assert isinstance(self._strategy, ViewsOfModels), "a function reads text"
        views, refused = self._strategy.encode(rows, pooling)
        return _side_by_side(views), refused

    @property
    def has_views(self) -> bool:
        """Whether the embedding consists of views of models; a function's is one matrix."""
        return self._strategy.has_views

    @property
    def models(self) -> Sequence[ViewModel]:
        """The models whose views are taken, each once; none of a function."""
        return self._strategy.models

    @cached_property
    def digest(self) -> str:
        """Of everything that determines the embeddings of a sentence; empty of a function, whose
        changes nothing tells."""
        return self._strategy.digest

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
        """Returns the width of each array of `encode_views`, by its key and in its order."""
        return self._strategy.widths(pooling)

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


@dataclass(frozen=True, slots=True, eq=False)
class TakenViews:
    """A model and which of its views are taken."""

    model: ViewModel
    views: tuple[str, ...] = ()
    """See `chosen_views`; none named takes all."""
    name: str = ""
    """For messages."""


class ViewsOfModels:
    """Views of one model, or of several, numbered through: ``0-SEQ``, ``1-LIN``.

    Models go through the sentences together, so that each piece is tokenized and parsed once for
    all that have the same parsers. A sentence that one of them cannot take is zeros in all views,
    as it is where one model has them all. A model of which several views are taken is asked once.
    """

    has_views = True

    def __init__(
        self, parts: Sequence[TakenViews], settings: EncoderSettings, *, joined: bool = True
    ) -> None:
        """Takes the views in the order of the parts, of each in its model's order.

        Args:
            joined: False of one model as it is, whose views and digest are the whole's.

        Raises:
            ValueError: a batch of no sentences, a view that its model has not, or one that is taken
                twice.
        """
        if settings.batch_size == 0:
            raise ValueError("batch_size must be at least 1, got 0")
        self.models = list({id(part.model): part.model for part in parts}.values())
        self._settings, self._joined = settings, joined
        self._views = [
            (self.models.index(part.model), view) for part in parts for view in _taken(part)
        ]
        """Place of the model that gives each, and its name there."""
        given = self._digests() if joined else []
        if doubled := sorted({view for one, view in given if given.count([one, view]) > 1}):
            raise ValueError(f"views {', '.join(doubled)} of one encoder are joined twice")

    def _digests(self) -> list[list[str]]:
        return [[self.models[place].digest, view] for place, view in self._views]

    @property
    def digest(self) -> str:
        """Of the models' digests and the views that are taken, in their order."""
        return digest_of({"joined": self._digests()}) if self._joined else self.models[0].digest

    def widths(self, pooling: Sequence[Pooling]) -> dict[str, int]:
        """Returns the width of each array of `encode`, by its key and in its order."""
        widths = [model.widths(pooling) for model in self.models]
        return {key: widths[place][own] for key, place, own in self._keys(widths)}

    def encode(
        self,
        sentences: Sequence[str] | ParsedRows,
        pooling: Sequence[Pooling],
        batch_size: int | None = None,
        on_progress: Progress | None = None,
    ) -> tuple[dict[str, FloatArray], list[RefusedSentence]]:
        """Returns the vectors, [n, H] by key, and the sentences that are zeros.

        Args:
            sentences: raw text, or sentences that are tokenized and parsed.

        Raises:
            ValueError: see `Encoder.encode`.
        """
        if not isinstance(sentences, ParsedRows):
            for model in self.models:
                self._fail_if_any(model.reader.find_unreadable(sentences) if self._fails else [])
        size, count = batch_size or self._settings.batch_size, len(sentences)
        arrays = [
            {key: np.zeros((count, width), np.float32) for key, width in m.widths(pooling).items()}
            for m in self.models
        ]
        refused: list[list[RefusedSentence]] = [[] for _ in self.models]
        for start in range(0, count, SENTENCES_AT_ONCE):
            read_by = self._piece(sentences, start)
            for place, model in enumerate(self.models):
                with model.turn:
                    read = read_by(model.reader)
                    self._fail_if_any(read.refusals)
                    for batch in model.batches(read.block, size):
                        for key, vectors in model.embed(batch, pooling).items():
                            arrays[place][key][batch.rows] = vectors
                refused[place] += read.refusals
            if on_progress is not None:
                on_progress(min(1.0, (start + SENTENCES_AT_ONCE) / count))
        return self._together(arrays, refused)

    def _piece(
        self, sentences: Sequence[str] | ParsedRows, start: int
    ) -> Callable[[SentenceReader], ReadSentences]:
        """Returns what has a model's reader read the piece that begins at a sentence."""
        if isinstance(sentences, ParsedRows):
            rows = sentences.slice(start, SENTENCES_AT_ONCE)
            return lambda reader: reader.read_rows(rows, start)
        piece = sentences[start : start + SENTENCES_AT_ONCE]
        tables = PieceTables(piece, self._settings.parses)
        return lambda reader: reader.read(piece, start, tables)

    def _together(
        self, arrays: Sequence[dict[str, FloatArray]], refused: Sequence[list[RefusedSentence]]
    ) -> tuple[dict[str, FloatArray], list[RefusedSentence]]:
        """Returns the views of the whole, and the sentences that are zeros in them.

        Of several reasons for zeros the first one counts.
        """
        zeros = {refusal.index: refusal for part in reversed(refused) for refusal in part}
        rows = sorted(zeros)
        views = {key: arrays[place][own] for key, place, own in self._keys(arrays)}
        if len(self.models) > 1 and rows:
            for matrix in views.values():
                matrix[rows] = 0.0
        return views, [zeros[row] for row in rows]

    def _keys(self, arrays: Sequence[Mapping[str, object]]) -> list[tuple[str, int, str]]:
        """Returns each key of the whole with its model's place and its key there."""
        return [
            (f"{number}-{name_of(view)}.{pooling}" if self._joined else own, place, own)
            for number, (place, view) in enumerate(self._views)
            for own in arrays[place]
            for own_view, pooling in [view_and_pooling(own)]
            if own_view == view
        ]

    @property
    def _fails(self) -> bool:
        return self._settings.on_refusal == "error"

    def _fail_if_any(self, refusals: Sequence[RefusedSentence]) -> None:
        """Refuses sentences that cannot be taken, where that is an error.

        Raises:
            ValueError: names them, the reasons and the remedy.
        """
        if refusals and self._fails:
            raise ValueError(
                f"{named(refusals)}; leave out what cannot be taken, or give on_refusal='zero' for "
                "a vector of zeros in its place"
            )


def _taken(part: TakenViews) -> list[str]:
    """Returns the views that are taken of a model, in its order.

    Raises:
        ValueError: see `chosen_views`; names the model.
    """
    available = dict.fromkeys(view_and_pooling(key)[0] for key in part.model.widths(LAST))
    try:
        return chosen_views(list(available), part.views)
    except ValueError as error:
        raise ValueError(f"{part.name}: {error}" if part.name else str(error)) from error
