"""A loss about words beside another objective: what such losses share.

Legend: B sentences, E word dimension, H_v width of view v.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor, nn

from models.objectives.base import LookUp, Objective, ObjectiveResult, SentenceContext


class LossBeside(Objective):
    """Another objective, and beside it a weighted loss of views as wide as words."""

    def __init__(
        self,
        objective: Objective,
        widths: Sequence[int],
        word_size: int,
        *,
        weight: float,
        measure: str,
    ) -> None:
        """Makes what maps views to words: a matrix where a view is not as wide as these.

        Args:
            objective: gives loss, accuracy and all else.
            widths: H_v of each view.
            word_size: E.
            weight: of the loss beside the objective's.
            measure: the loss's name in the log.
        """
        super().__init__()
        self.objective = objective
        self.maps = nn.ModuleList(
            nn.Identity() if width == word_size else nn.Linear(width, word_size, bias=False)
            for width in widths
        )
        self.weight = weight
        self.measure = measure
        self.measure_names = (*objective.measure_names, measure)

    def forward(
        self, views: Sequence[Tensor], context: SentenceContext, look_up: LookUp
    ) -> ObjectiveResult:
        """Returns the other objective's result with the weighted sum of both losses.

        Args:
            views: of each sentence, [B, H_v] each.
            context: of these sentences, with what the loss asks for.
            look_up: gives word vectors; where each view has its own, those of the first.
        """
        result: ObjectiveResult = self.objective(views, context, look_up)
        mapped = [to_words(view) for view, to_words in zip(views, self.maps, strict=True)]
        loss = self.loss(mapped, context, look_up)
        return replace(
            result,
            loss=result.loss + self.weight * loss,
            measures={**result.measures, self.measure: loss.detach()},
        )

    @abstractmethod
    def loss(self, mapped: Sequence[Tensor], context: SentenceContext, look_up: LookUp) -> Tensor:
        """Returns the loss; differentiable in the views, not in the words that they look for.

        Args:
            mapped: the views, [B, E] each.
            context: as above.
            look_up: as above.
        """

    def constrain(self) -> dict[str, Tensor]:
        """Puts the other objective's parameters back to where they must lie."""
        return self.objective.constrain()
