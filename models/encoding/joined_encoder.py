"""Views of several encoders as those of one: ensembles of views that were trained apart.

Tang & de Sa 2018, table 6, has such ensembles beside the models whose views were trained together.

Legend: n sentences, H width of a view, d width of all views together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models.config.views import Pooling
from models.encoding.encoder_interface import (
    FloatArray,
    MeasuredEncoder,
    RefusingEncoder,
    chosen_views,
    name_of,
    view_and_pooling,
)
from pipeline.base.digest import digest_of
from pipeline.base.refusal import RefusedSentence


@dataclass(frozen=True, slots=True, eq=False)
class EncoderViews:
    """An encoder and which of its views are taken."""

    encoder: MeasuredEncoder
    views: tuple[str, ...] = ()
    """See `chosen_views`; none named takes all."""
    name: str = ""
    """For messages."""


class JoinedEncoder:
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

    @property
    def fails_on_refusal(self) -> bool:
        """Whether a sentence that cannot be taken is an error instead of zeros."""
        return any(
            isinstance(encoder, RefusingEncoder) and encoder.fails_on_refusal
            for encoder in self.encoders
        )

    @cached_property
    def digest(self) -> str:
        """Of the encoders' digests and the views that are taken, in their order."""
        views = [[self.encoders[place].digest, view] for place, view in self._sources]
        return digest_of({"joined": views})

    def widths(self, pooling: Sequence[Pooling] = ("last",)) -> dict[str, int]:
        """Returns the width of each array of `encode_views`, by its key and in its order."""
        found = [encoder.widths(pooling) for encoder in self.encoders]
        return {key: found[place][own] for key, place, own in self._keys(found)}

    def encode(self, sentences: Sequence[str]) -> FloatArray:
        """Returns the embeddings, float32 [n, d]: the last states of all views side by side.

        Raises:
            ValueError: see `encode_views`.
        """
        return np.concatenate(list(self.encode_views(sentences).values()), axis=1)

    def encode_views(
        self, sentences: Sequence[str], pooling: Sequence[Pooling] = ("last",)
    ) -> dict[str, FloatArray]:
        """Returns each view's vectors, float32 [n, H], by view and pooling (``0-SEQ.last``).

        Raises:
            ValueError: an encoder's, of sentences that it cannot take if that is an error.
        """
        views, refused = [], []
        for encoder in self.encoders:
            views.append(encoder.encode_views(sentences, pooling))
            refused.append(tuple(encoder.refused) if isinstance(encoder, RefusingEncoder) else ())
        joined, together = self.join(views, refused)
        self.refused = list(together)
        return joined

    def join(
        self,
        views: Sequence[Mapping[str, FloatArray]],
        refused: Sequence[Sequence[RefusedSentence]],
    ) -> tuple[dict[str, FloatArray], tuple[RefusedSentence, ...]]:
        """Returns the views of the whole, and the sentences that are zeros in them.

        Args:
            views: of each of `encoders`, as it gives them; left as they are.
            refused: sentences that each could not take; of several reasons the first one counts.
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
