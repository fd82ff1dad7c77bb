"""What encoders and their views are called: the one grammar of names, and what each stands for.

    trained, trained-SEED          the model that a run of Luigi trains, with its seed or another
    expanded, expanded-SEED        the same with trained words, and then more (`ExpandVocabulary`)
    ensemble, ensemble-SEED        the model with given words and that with expanded ones, joined
    random-SEED                    the same architecture with untrained weights
    bag_of_words                   pooled word vectors
    sif                            their mean, each of length 1 and weighted by its rarity
    english                        the encoder that ships
    MODEL                          the folder of a trained model or of an ensemble, or
                                   hf://user/name[@revision]
    MODEL@VIEW+MODEL@VIEW          views of several models side by side
    package.module:name            a function of the user's own

Each VIEW is one of the model's by name or with its place (``SEQ``, ``0-SEQ``); without ``@VIEW``
all of them are taken. Loads neither torch nor a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from treeviews.models.config.views import Pooling, is_mean
from treeviews.models.model.ensemble import MEMBERS_FOLDER, is_ensemble, read_ensemble
from treeviews.models.model.hub import folder_called
from treeviews.pipeline.base.bundled import BUNDLED_MODELS
from treeviews.pipeline.base.mistakes import did_you_mean

BAG_OF_WORDS = "bag_of_words"
SIF = "sif"
JOINED_FORM = "MODEL@VIEW+MODEL@VIEW"
OF_A_RUN = ("trained", "expanded", "ensemble")
"""What a run of Luigi makes; each with -SEED, too."""
FORMS = (
    "trained or trained-SEED (in treeviews run; likewise expanded and ensemble), random-SEED "
    f"(SEED: 0 or more), {BAG_OF_WORDS}, {SIF}, {', '.join(BUNDLED_MODELS)}, "
    f"a model folder or hf://user/name, views of model folders as {JOINED_FORM}, or your own "
    "function from a list of strings to a matrix as package.module:name (the module's code is run)"
)
_BASELINES = (BAG_OF_WORDS, SIF)
READY = (*_BASELINES, *BUNDLED_MODELS)
"""Encoders that need no training: every table of a run has them beside what it trained."""
_SEEDED = re.compile(rf"({'|'.join(OF_A_RUN)})(?:-(\d+))?|(random)-(\d+)")
_JOIN, _OF = "+", "@"

OPAQUE_VIEW = "0-encoder"
"""The one view of a function, which gives a matrix and says nothing of states."""
WORDS_VIEW = "words"
"""The word vectors themselves, as a view: what a bag of words pools."""


class UnknownEncoderError(FileNotFoundError, ValueError):
    """A name that is no folder and of no form; says which was meant, if one is close."""


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


@dataclass(frozen=True, slots=True)
class EncoderName:
    """A name, and what it stands for."""

    called: str
    """The name as it was given."""
    kind: str
    """One of `OF_A_RUN`, ``random``, ``bag_of_words``, ``sif``, ``model``, ``joined`` or
    ``function``."""
    seed: int | None = None
    """Of a trained one None is the run's."""
    parts: tuple[ModelViews, ...] = ()
    """Models that are loaded, in order."""
    ensemble: Path | None = None
    """The folder that joins the models, if one does."""

    @property
    def shown(self) -> str:
        """What tables call the encoder; of joined models without the places of their folders."""
        if self.ensemble is not None:
            return self.ensemble.resolve().name
        if self.kind == "joined":
            return _JOIN.join(part.name for part in self.parts)
        return self.called


def parse_encoder_name(called: str) -> EncoderName:
    """Returns what a name stands for.

    A folder that is there is itself, whatever signs its name has; one that is called as a form of
    the grammar is given with its place: ``./trained``.

    Raises:
        UnknownEncoderError: the name is of no form.
        ValueError: a part of joined models is no folder; names the part and the remedy.
    """
    if called in _BASELINES:
        return EncoderName(called, called)
    if match := _SEEDED.fullmatch(called):
        seed = match[2] or match[4]
        return EncoderName(called, match[1] or match[3], None if seed is None else int(seed))
    if (folder := folder_called(called)).is_dir():
        if not is_ensemble(folder):
            return EncoderName(called, "model", parts=(ModelViews(folder),))
        described, places = read_ensemble(folder)
        pairs = zip(places, described.members, strict=True)
        parts = tuple(ModelViews(place, member.views) for place, member in pairs)
        return EncoderName(called, "joined", parts=parts, ensemble=folder)
    if _JOIN in called or _OF in called:
        return EncoderName(
            called,
            "joined",
            parts=tuple(_joined_model(text, called) for text in called.split(_JOIN)),
        )
    if ":" in called:
        return EncoderName(called, "function")
    remedy = did_you_mean(called, known=(*OF_A_RUN, "random-0", *READY)) or f"; give {FORMS}"
    raise UnknownEncoderError(f"encoder {called!r}: no such folder and no known name{remedy}")


def _joined_model(text: str, called: str) -> ModelViews:
    folder, _, view = text.rpartition(_OF)
    part = ModelViews(folder_called(text or _OF))
    if not part.folder.is_dir() and folder and view:
        part = ModelViews(folder_called(folder), (view,))
    if not part.folder.is_dir():
        raise ValueError(
            f"encoder {called!r}: {text!r} does not begin with the folder of a model; "
            f"{JOINED_FORM} joins views of models that are folders without {_JOIN} in their names"
        )
    if is_ensemble(part.folder):
        raise ValueError(
            f"encoder {called!r}: {part.name} is an ensemble itself; join its members, the folders "
            f"in {part.folder / MEMBERS_FOLDER}"
        )
    return part


def key_of(view: str, pooling: Pooling) -> str:
    """Returns the key of a view's pooled vectors, as in ``0-DEP.last``."""
    return f"{view}.{pooling}"


def placed(views: Sequence[str]) -> tuple[str, ...]:
    """Returns views as an encoder calls them, each with its place among them: ``0-SEQ``."""
    return tuple(f"{place}-{view}" for place, view in enumerate(views))


def name_of(view: str) -> str:
    """Returns a view's name without its place among the encoder's: SEQ of ``0-SEQ``."""
    return re.sub(r"^\d+-", "", view)


def is_bag(view: str) -> bool:
    """Returns whether a view's states have no order, so that the last of them means nothing."""
    return name_of(view) == WORDS_VIEW or is_mean(name_of(view))


def chosen_views(available: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Returns the views that are asked for, in the encoder's order; all if none is.

    Args:
        available: the encoder's, as in ``0-SEQ``.
        wanted: each by its name, as in ``SEQ``, or with its place, as in ``0-SEQ``.

    Raises:
        ValueError: a view that the encoder has not, a name that several have, or one view named
            twice; lists those there are.
    """
    chosen = [_chosen_view(available, view) for view in wanted]
    if doubled := sorted({view for view in chosen if chosen.count(view) > 1}):
        raise ValueError(f"views {list(wanted)} name {', '.join(doubled)} twice")
    return [view for view in available if not wanted or view in chosen]


def _chosen_view(available: Sequence[str], wanted: str) -> str:
    named = [wanted] if wanted in available else [v for v in available if name_of(v) == wanted]
    if len(named) > 1:
        raise ValueError(f"several views are called {wanted}; give one of {', '.join(named)}")
    if not named:
        raise ValueError(f"no view {wanted!r}; the encoder's are {', '.join(available) or 'none'}")
    return named[0]
