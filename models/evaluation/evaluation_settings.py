"""The settings of an evaluation, and of how answers are learnt and chosen; loads no torch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from treeviews.models.encoding.encoder_names import parse_encoder_name
from treeviews.models.evaluation.representation import Representation
from treeviews.models.evaluation.task_registry import Protocol
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.base.settings import POSITIVE, Count, Option, Positive, Settings, at_least

PROTOCOL_VERSION = 2
"""Raised when the same representations and configuration would give other predictions."""

BatchLoss = Literal["sum", "mean"]
"""Whether the losses of a batch's items are added or averaged. SentEval asks for the sum by setting
``size_average = False`` on the loss. PyTorch obeyed as long as that was what its losses read (until
0.4.0); later ones have ``reduction`` and average all the same, which makes a weight decay 64 times
as strong beside the loss."""
Classifier = Literal["logistic_regression", "compatibility"]
"""``logistic_regression``: convex, to a tolerance; ``compatibility``: SentEval's own, trained by
Adam with early stopping."""

GRIDS: Mapping[Protocol, tuple[float, ...]] = {
    "nested_folds": tuple(2.0**t for t in range(-2, 4)),
    "folds": tuple(2.0**t for t in range(-1, 6)),
    "split": tuple(2.0**t for t in range(-2, 4)),
}
"""C (SentEval, validation.py: InnerKFoldClassifier, KFoldClassifier, SplitClassifier)."""
COMPATIBILITY_GRID = tuple(10.0**t for t in range(-5, -1))
"""Weight decay of SentEval's own classifier, in all three."""


class ProtocolConfig(Settings):
    """What SentEval leaves to its user; the defaults are those its published results used."""

    called: ClassVar[str] = "protocol setting"

    classifier: Annotated[Classifier, Option()] = "logistic_regression"
    """Use compatibility for SentEval's own classifier, trained by Adam."""
    num_folds: Annotated[int, at_least(2), Option("folds")] = 10
    """Number of outer and inner folds (SentEval's README: kfold 10, or 5 for quick runs)."""
    seed: int = 1111
    """Of the folds and of the compatibility classifier."""
    batch_items: Count = 128
    """Items represented at once, which matters where principal components are removed per batch
    of representations (SentEval's default batch size)."""
    tolerance: Positive = 1e-6
    """Share of its objective by which a logistic regression may lie above the minimum."""
    max_steps: Count = 500
    grid_scale: Annotated[Positive, Option()] = 1.0
    """Factor on every C in SentEval's grids for the logistic regression. The grids suit raw
    features; 4 suits views of length 1, as in the representation multi-view, whose searches would
    otherwise end at the edge of the grid."""
    standardise: bool | None = None
    """Whether features are brought to mean 0 and deviation 1 on the items that a logistic
    regression of classes trains on; None leaves it to the data: published ones are taken raw.
    Differs from SentEval: one grid then fits embeddings of any scale, and the rows of a table
    differ in what they encode, not in how large they are."""
    penalties: Annotated[tuple[float, ...] | None, POSITIVE] = None
    """λ, the penalty a training item, in the place of SentEval's grids of C, whose penalty stands
    beside a sum over items: with λ one grid serves tasks of any size. () asks for SentEval's grids,
    None leaves it to the data."""
    compatibility_loss: Annotated[BatchLoss, Option()] = "sum"
    """How the compatibility classifier combines the losses of a batch: sum, as SentEval requests
    and its published results have it, or mean, as SentEval does with current PyTorch versions."""

    def _check_together(self) -> None:
        """Refuses settings that belong to different classifiers or grids.

        Raises:
            ValueError: names the fields.
        """
        if self.classifier == "compatibility" and (self.standardise or self.penalties):
            raise ValueError("standardise and penalties are of the classifier logistic_regression")
        if self.classifier != "compatibility" and self.compatibility_loss != "sum":
            raise ValueError(
                f"compatibility_loss {self.compatibility_loss} is of the classifier compatibility, "
                f"not of {self.classifier}; ask for that classifier or leave it out"
            )
        if self.grid_scale != 1.0 and self.penalties:
            raise ValueError("grid_scale is of SentEval's grids, which penalties replace")

    def on_data(self, declared: Mapping[str, Any]) -> ProtocolConfig:
        """Returns the configuration on data that declare fields of it.

        Data declare ``standardise`` and ``penalties``, whose None leaves them to the data. A field
        that is asked for stays, and so do SentEval's grids where they are scaled, and its own
        classifier.

        Raises:
            ValueError: the data declare a value out of range.
        """
        if self.classifier == "compatibility":
            return self
        asked = {name for name, value in self.values().items() if value is not None}
        if self.grid_scale != 1.0:
            asked.add("penalties")
        return self.changed(**{name: declared[name] for name in declared if name not in asked})

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values.

        Fields that came later are left out at their defaults, so that earlier results keep their
        meaning.
        """
        later = {"grid_scale": 1.0, "standardise": None, "penalties": None}
        fields = Settings.to_dict(self)
        return {k: v for k, v in fields.items() if k not in later or v != later[k]}


MAX_REFUSED = 0.1
"""Above this share, scores say little of an encoder, and a wrong language or parser is likely."""


class EvaluationSettings(Settings):
    """What is scored, on what, and how: what commands make, and jobs are as JSON."""

    called: ClassVar[str] = "evaluation setting"

    encoder: str
    """Of the grammar of `models.encoding.encoder_names`."""
    tasks: tuple[str, ...]
    data: Path
    """SentEval's ``data`` folder, the one that holds ``downstream`` and ``probing``."""
    out: Mapping[str, Path] | Path
    """Folder of each task's result by its name, or of all of them."""
    name: str | None = None
    """What tables call the encoder; by default what it is asked for by."""
    seed: int | None = None
    """Of the encoder, for the result."""
    parses: Path | None = None
    """Folder of tokens and parses that encoders share; None keeps them for this evaluation."""
    encoder_version: str | None = None
    """Of a function of the user's own: what its results are kept under, beside the checksum of its
    module; without it they are made anew each time."""
    encoder_source: str | None = None
    """That checksum, as whoever made the settings saw it."""
    representation: Representation = Representation()
    protocol: ProtocolConfig = ProtocolConfig()
    encoder_settings: Mapping[str, Any] = {}
    """``batch_size``, ``on_refusal``, ``vectors``, ``dependency_parser``, ``constituency_parser``,
    and ``config`` of an untrained one."""
    device: str = "cpu"
    threads: Count = 1

    @property
    def max_refused(self) -> float:
        """Share of a dataset's distinct sentences that the encoder may refuse, giving zeros.

        Zeros that are asked for may be any number; unsaid, few sentences may be zeros.
        """
        return 1.0 if self.encoder_settings.get("on_refusal") == "zero" else MAX_REFUSED

    def folder(self, task: str) -> Path:
        """Returns the folder of a task's result."""
        return self.out if isinstance(self.out, Path) else self.out[task]


def results_folder(
    encoder: str, representation: Representation, protocol: ProtocolConfig, preset: str = ""
) -> Path:
    """Returns where results go unless told; what is not scored by the defaults has a digest.

    Args:
        preset: of an untrained encoder, where it is not the default one.
    """
    parsed = parse_encoder_name(encoder)
    name = Path(encoder).name if Path(encoder).is_dir() else parsed.shown
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")
    if preset and parsed.kind == "random":
        name = f"{name}-{preset}"
    if (representation, protocol) == (Representation(), ProtocolConfig()):
        return Path("results", name)
    used = {"representation": representation.to_dict(), "protocol": protocol.to_dict()}
    return Path("results", f"{name}-{digest_of(used)[:8]}")
