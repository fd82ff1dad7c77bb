"""What a model's folder says of itself, and where its parsers and word vectors lie now.

Loads no torch: ``model.json`` alone is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import ClassVar, TypeVar

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.words.word_vectors import WordVectors, load_word_vectors
from treeviews.pipeline.base.bundled import (
    BUNDLED_MODELS,
    BUNDLED_PARSERS,
    SHIPPED_VECTORS,
    parser_folder,
    shipped_parsers,
)
from treeviews.pipeline.base.inside import inside
from treeviews.pipeline.base.json_files import check_file, read_json, read_object
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.base.refusal import shortened
from treeviews.pipeline.base.settings import Settings
from treeviews.pipeline.parsers.parser_files import checksum_of_parser_folder
from treeviews.pipeline.shards.manifests import read_dataset_manifest

T = TypeVar("T")

WEIGHTS_FILE = "model.safetensors"
MODEL_FILE = "model.json"
WORDS_FOLDER = "words"
"""Of word vectors that lie within a model's folder."""
EXPANDED = "expanded"
"""Key of what a vocabulary was expanded from, and how well."""
FORMAT_VERSION = 2
REMEDY = "restore the model's files together, or delete the folder and train again"
"""What to do about a model of which a file is damaged."""
OPTION_OF_STAGE = {"dependencies": "dependency_parser", "constituents": "constituency_parser"}
"""Parse stage -> the argument that says where its parser lies."""
_REMEDY = "it is no model of this release: train again, or get the folder anew"


class ParserRecord(Settings):
    """A parser as a model's folder names it."""

    called: ClassVar[str] = "parser record field"

    name: str
    checksum: str
    """See `checksum_of_parser_folder`."""
    path: Path | None = None
    """Where it lay in training, if that is known; one that is not absolute lies within the model's
    folder. None: it is near, or among those that ship."""
    nearby: str = ""
    """Where it lies from one of the folders above the model's; see `place_of`."""


class VectorsRecord(Settings):
    """Word vectors as a model's folder names them."""

    called: ClassVar[str] = "vectors field"

    path: Path | None
    """Where they lay in training, which may be anywhere; one that is not absolute lies within the
    model's folder. None: they are near, or among those that ship."""
    checksum: str
    """See `WordVectors.checksum`."""
    rms: float = 0.0
    duplicates: int = 0
    """As earlier releases noted."""
    nearby: str = ""
    """Where they lie from one of the folders above the model's; see `place_of`."""

    @property
    def are_own(self) -> bool:
        """Whether they lie within the model's folder, which then takes no others."""
        return self.path is not None and not self.path.is_absolute()

    @property
    def are_settled(self) -> bool:
        """Whether a model finds them wherever it is: within its folder, or among what ships."""
        return self.are_own or (self.path is None and not self.nearby)


class ModelDescription(Settings):
    """What ``model.json`` says, as far as it is read again."""

    called: ClassVar[str] = "model field"

    config: TrainingConfig
    vectors: VectorsRecord
    corpus: Mapping[str, Path] = {}
    """Stage -> folder in training."""
    parsers: Mapping[str, ParserRecord] = {}
    """Parse stage that the views read -> parser."""
    made: Mapping[str, str] = {}
    """What it was made with: releases of libraries, the commit if there was one."""
    licence: str = ""
    """Under which it may be passed on; empty if its maker did not say."""

    def parser(self, stage: str) -> ParserRecord:
        """Returns the parser of a stage.

        Raises:
            ValueError: none is named.
        """
        if stage in self.parsers:
            return self.parsers[stage]
        raise ValueError(f"the model does not say which parser made its {stage}; train it again")


def read_model_description(folder: Path) -> ModelDescription:
    """Returns ``model.json``; what it says is near stands where it was found.

    Raises:
        FileNotFoundError: no model there.
        ValueError: it is damaged, of a format that this release does not read, or names a parser
            within the folder that would lie outside.
    """
    path = folder / MODEL_FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder}: no trained model here; give the folder of a model, the name of one that "
            f"ships ({', '.join(BUNDLED_MODELS)}), or run the training first"
            f"{did_you_mean(str(folder), known=BUNDLED_MODELS)}"
        )
    value = read_json(path, remedy=REMEDY)
    version = value.get("format_version") if isinstance(value, dict) else FORMAT_VERSION
    if version != FORMAT_VERSION:
        raise ValueError(
            f"{path}: format version {shortened(version)}, this release reads {FORMAT_VERSION}; "
            "train again or install the release that wrote it"
        )
    found = ModelDescription.from_json(value, path, remedy=_REMEDY)
    parsers = {}
    for stage, record in found.parsers.items():
        place = record.path
        if place is None:
            place = resolve_nearby(folder, record.nearby)
        elif not place.is_absolute():
            place = inside(folder, str(place))
        checksum = checksum_of_weights(record.checksum)
        parsers[stage] = record.changed(path=place, checksum=checksum)
    work_folder = folder.absolute().parent.parent
    corpus = {
        stage: resolve_nearby(folder, str(place)) or work_folder / place
        for stage, place in found.corpus.items()
    }
    return found.changed(parsers=parsers, corpus=corpus)


_NEAR = 4
"""Folders above a model's in which things may be near: ``models``, the work folder, and two for a
model that lies deeper, as ``best`` does."""


def place_of(thing: Path, model_folder: Path, shipped: Iterable[Path] = ()) -> dict[str, str]:
    """Returns what a model's folder says of where something lies: ``path``, ``nearby`` or nothing.

    What ships is found by its checksum. What lies in the same work folder (the model lies two
    folders deep in it) is named from there, so that the work folder can be moved. Only what lies
    elsewhere has the place that it has on this machine.

    Args:
        shipped: places of what ships.
    """
    place = thing.absolute()
    if any(place.resolve() == one.resolve() for one in shipped):
        return {}
    work_folder = model_folder.absolute().parent.parent
    if work_folder != work_folder.parent and place.is_relative_to(work_folder):
        return {"nearby": place.relative_to(work_folder).as_posix()}
    return {"path": str(place)}


def resolve_nearby(model_folder: Path, name: str) -> Path | None:
    """Returns what `place_of` named from the work folder, wherever that is now; None if gone."""
    parts = PurePosixPath(name)
    if not name or parts.is_absolute() or ".." in parts.parts:
        return None
    above = model_folder.absolute().parents[:_NEAR]
    return next((folder / name for folder in above if (folder / name).exists()), None)


def parsers_of_corpus(folders: Mapping[str, Path]) -> dict[str, tuple[str, str]]:
    """Returns the parser of each parse stage, as its shards' manifests name it.

    Its name, and its checksum with the arithmetic of a fast parse (`checksum_of_weights`). Stages
    whose shards name no parser are left out.

    Args:
        folders: folder of each stage.

    Raises:
        FileNotFoundError: a stage is not complete.
        ValueError: the shards of a stage are by several parsers.
    """
    parsers = {}
    for stage, folder in folders.items():
        if stage not in OPTION_OF_STAGE:
            continue
        shards = read_dataset_manifest(folder, stage).shards
        found = {(s.extra.get("parser"), s.extra.get("parser_checksum")) for s in shards}
        if len(found) > 1:
            raise ValueError(
                f"{folder}: shards by several parsers {sorted(map(str, found))}; parse all of the "
                "corpus with one"
            )
        for name, checksum in found:
            if checksum is not None:
                parsers[stage] = (str(name), str(checksum))
    return parsers


def parser_entry(
    stage: str, name: str, checksum: str, place: Path | None, model_folder: Path
) -> dict[str, str | None]:
    """Returns what a model's folder says of a parser, and of where it lies if that is known."""
    shipped = shipped_parsers(stage).values()
    where = place_of(place, model_folder, shipped) if place else {}
    return {"name": name, "checksum": checksum, "path": None, **where}


def checksum_of_weights(checksum: str) -> str:
    """Returns a parser folder's checksum from that of a parser, which may name its arithmetic.

    After a dash stands the arithmetic of a fast parse of a corpus. It is no part of which parser a
    model needs: raw text is few sentences, and is parsed exactly.
    """
    return checksum.partition("-")[0]


def find_parser(stage: str, record: ParserRecord, given: Path | None) -> Path:
    """Returns the folder of the parser that a stage needs, its checksum verified.

    Looked for where the user says, else where it lay in training, else among those that ship.

    Args:
        given: where the user says it lies.

    Raises:
        ValueError: no such folder, or another parser; names the argument that helps.
    """
    option = OPTION_OF_STAGE[stage]
    places = [record.path, *shipped_parsers(stage).values()]
    return _with_checksum(
        record.checksum,
        places if given is None else [parser_folder(given)],
        Path,
        checksum_of_parser_folder,
        f"the {stage} parser of the model, {record.name!r} when it was trained",
        f"give {option}=FOLDER of that parser (--{option.replace('_', '-')} on a command line), or "
        f"leave it out where it is one of those in {BUNDLED_PARSERS[stage].parent}",
    )


def vectors_of_model(
    folder: Path, description: ModelDescription, given: Path | None = None, *, whole: bool = False
) -> WordVectors:
    """Returns the word vectors that a model was made with, all of them.

    Looked for where the user says, else where they lay in training, else among those that ship.

    Args:
        given: where the user says they lie.
        whole: see `load_word_vectors`.

    Raises:
        ValueError: they are not found, or are given to a model that has its own.
    """
    recorded = description.vectors
    places = [recorded.path, resolve_nearby(folder, recorded.nearby), *SHIPPED_VECTORS]
    if recorded.are_own:
        places = [inside(folder, str(recorded.path))]
        if given is not None:
            raise ValueError(
                f"{folder}: has its own word vectors ({recorded.path}) and takes no others; leave "
                f"out vectors={given}"
            )
    return _with_checksum(
        recorded.checksum,
        places if given is None else [given],
        lambda path: load_word_vectors(path, whole=whole),
        lambda vectors: vectors.checksum,
        "the word vectors of the model",
        "give vectors=PATH of those",
    )


def _with_checksum(
    checksum: str,
    places: Iterable[Path | None],
    open_at: Callable[[Path], T],
    checksum_of: Callable[[T], str],
    what: str,
    remedy: str,
) -> T:
    """Returns the thing with this checksum from the first place that has it.

    Args:
        open_at: returns what lies at a place.
        checksum_of: returns the checksum of that.
        what: for the message.

    Raises:
        ValueError: none has it; says what each holds, and the remedy.
    """
    faults = []
    for path in filter(None, places):
        try:
            thing = open_at(path)
            own = checksum_of(thing)
        except (OSError, ValueError) as error:
            faults.append(str(error))
            continue
        if own == checksum:
            return thing
        faults.append(f"{path}: another (checksum {own[:12]}…)")
    tried = "; ".join(faults)
    raise ValueError(f"{what} (checksum {checksum[:12]}…), not found: {tried}; {remedy}")


def read_weights(folder: Path, load: Callable[[Path], dict[str, T]]) -> dict[str, T]:
    """Returns the tensors of a model's folder, held against what ``model.json`` seals.

    Args:
        load: safetensors' loader, for torch or for numpy.

    Raises:
        ValueError: they are gone or damaged, or cannot be read.
    """
    from safetensors import SafetensorError

    path = folder / WEIGHTS_FILE
    if not path.is_file():
        raise ValueError(f"{path}: no such file; {REMEDY}")
    check_file(path, read_object(folder / MODEL_FILE, (), remedy=REMEDY), REMEDY)
    try:
        return load(path)
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{path}: cannot be loaded: {error}; {REMEDY}") from error
