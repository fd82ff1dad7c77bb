"""What an ensemble of models is called: ``MODEL@VIEW+MODEL@VIEW``.

Each MODEL is the folder of a trained model, each VIEW one of its views by name or with its place
(``SEQ``, ``0-SEQ``); without ``@VIEW`` all of them are taken. Loads neither torch nor a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FORM = "MODEL@VIEW+MODEL@VIEW"
_JOIN, _OF = "+", "@"


@dataclass(frozen=True, slots=True)
class ModelViews:
    """A model's folder and which of its views are taken."""

    folder: Path
    views: tuple[str, ...] = ()
    """None named takes all."""

    @property
    def name(self) -> str:
        """The last part of the folder, with the view."""
        return _OF.join([self.folder.resolve().name, *self.views])


def is_joined(spec: str) -> bool:
    """Returns whether an encoder's name is of this form; a folder that is there is itself."""
    return (_JOIN in spec or _OF in spec) and not Path(spec).is_dir()


def joined_models(spec: str) -> list[ModelViews]:
    """Returns the models of an ensemble and their views, in order.

    Folders may have the signs in their own names: the longest name that is one counts.

    Raises:
        ValueError: a part is no folder, or ``@`` stands before nothing; names the part.
    """
    pieces = spec.split(_JOIN)
    found: list[ModelViews] = []
    while pieces:
        size, part = _longest(pieces, spec)
        found.append(part)
        pieces = pieces[size:]
    return found


def short_name(spec: str) -> str:
    """Returns an ensemble's name without the places of its models.

    Raises:
        ValueError: see `joined_models`.
    """
    return _JOIN.join(part.name for part in joined_models(spec))


def _longest(pieces: list[str], spec: str) -> tuple[int, ModelViews]:
    """Returns how many pieces the first part takes, and the part."""
    for size in range(len(pieces), 0, -1):
        text = _JOIN.join(pieces[:size])
        folder, _, view = text.rpartition(_OF)
        if text and Path(text).is_dir():
            return size, ModelViews(Path(text))
        if folder and _JOIN not in view and Path(folder).is_dir():
            if not view:
                raise ValueError(
                    f"encoder {spec!r}: give a view after {text!r}, or leave {_OF} out"
                )
            return size, ModelViews(Path(folder), (view,))
    raise ValueError(
        f"encoder {spec!r}: {pieces[0]!r} does not begin with the folder of a model; {FORM} joins "
        "views of models that are folders"
    )
