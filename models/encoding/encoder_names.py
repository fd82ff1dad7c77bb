"""What encoders are called: the one grammar of their names, and what each form stands for.

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
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from models.model.ensemble import is_ensemble, member_folders, read_ensemble
from models.model.hub import folder_called
from pipeline.base.bundled import BUNDLED_MODELS
from pipeline.base.mistakes import did_you_mean

BAG_OF_WORDS = "bag_of_words"
SIF = "sif"
JOINED_FORM = "MODEL@VIEW+MODEL@VIEW"
OF_A_RUN = ("trained", "expanded", "ensemble")
"""What a run of Luigi makes; each with -SEED, too."""
FORMS = (
    "trained or trained-SEED, expanded and ensemble likewise (in a run of Luigi), random-SEED "
    f"(SEED: 0 or more), {BAG_OF_WORDS}, "
    f"{SIF}, {', '.join(BUNDLED_MODELS)} (it ships), "
    f"the folder of a model or hf://user/name, views of such folders as {JOINED_FORM}, or "
    "package.module:name of a "
    "function of your own from a list of strings to a matrix: its module's code is run"
)
Kind = Literal[
    "trained",
    "expanded",
    "ensemble",
    "random",
    "bag_of_words",
    "sif",
    "model",
    "joined",
    "function",
]
_BASELINES: dict[str, Kind] = {BAG_OF_WORDS: "bag_of_words", SIF: "sif"}
READY = (*_BASELINES, *BUNDLED_MODELS)
"""Encoders that need no training: every table of a run has them beside what it trained."""
_OF_A_RUN = re.compile(rf"({'|'.join(OF_A_RUN)})(?:-(\d+))?")
_RANDOM = re.compile(r"random-(\d+)")
_JOIN, _OF = "+", "@"


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
    kind: Kind
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
        return EncoderName(called, _BASELINES[called])
    if found := _OF_A_RUN.fullmatch(called):
        kind: Kind = found[1]  # type: ignore[assignment]
        return EncoderName(called, kind, None if found[2] is None else int(found[2]))
    if found := _RANDOM.fullmatch(called):
        return EncoderName(called, "random", int(found[1]))
    if (folder := _model_folder(called)).is_dir():
        return _of_folder(called, folder)
    if _JOIN in called or _OF in called:
        return EncoderName(called, "joined", parts=tuple(_joined_models(called)))
    if ":" in called:
        if not all(called.partition(":")[::2]):
            raise ValueError(f"{called!r}: give package.module:name")
        return EncoderName(called, "function")
    meant = did_you_mean(called, known=(*OF_A_RUN, *READY))
    raise UnknownEncoderError(
        f"encoder {called!r}: no such folder and no known name{meant}; give {FORMS}"
    )


def _joined_models(called: str) -> list[ModelViews]:
    """Returns the models of a joined name and their views, in order.

    Folders may have the signs in their own names: the longest name that is one counts.
    """
    pieces = called.split(_JOIN)
    found: list[ModelViews] = []
    while pieces:
        size, part = _longest(pieces, called)
        found.append(part)
        pieces = pieces[size:]
    return found


def _of_folder(called: str, folder: Path) -> EncoderName:
    if is_ensemble(folder):
        return EncoderName(called, "joined", parts=_members(folder), ensemble=folder)
    return EncoderName(called, "model", parts=(ModelViews(folder),))


def _members(folder: Path) -> tuple[ModelViews, ...]:
    """Returns the models of an ensemble's folder.

    Raises:
        ValueError: see `read_ensemble`.
    """
    description = read_ensemble(folder)
    pairs = zip(member_folders(folder, description), description.members, strict=True)
    return tuple(ModelViews(place, member.views) for place, member in pairs)


def _one_model(part: ModelViews, called: str) -> ModelViews:
    """Returns a part of joined models, which is one model.

    Raises:
        ValueError: it is an ensemble; names what to join in its place.
    """
    if not is_ensemble(part.folder):
        return part
    members = _JOIN.join(_OF.join([str(one.folder), *one.views]) for one in _members(part.folder))
    raise ValueError(
        f"encoder {called!r}: {part.name} is an ensemble, of which no other one is made; join "
        f"its members: {members}"
    )


def _model_folder(called: str) -> Path:
    """Returns the folder of a model that ships or of a hub's, by its name, or the path itself."""
    return folder_called(called)


def _longest(pieces: list[str], called: str) -> tuple[int, ModelViews]:
    """Returns how many pieces the first part takes, and the part."""
    for size in range(len(pieces), 0, -1):
        text = _JOIN.join(pieces[:size])
        folder, _, view = text.rpartition(_OF)
        if text and (model := _model_folder(text)).is_dir():
            return size, _one_model(ModelViews(model), called)
        if folder and _JOIN not in view and (model := _model_folder(folder)).is_dir():
            if not view:
                raise ValueError(
                    f"encoder {called!r}: give a view after {text!r}, or leave {_OF} out"
                )
            return size, _one_model(ModelViews(model, (view,)), called)
    raise ValueError(
        f"encoder {called!r}: {pieces[0]!r} does not begin with the folder of a model; "
        f"{JOINED_FORM} joins views of models that are folders"
    )
