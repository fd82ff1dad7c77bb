"""A model as a folder to pass on: ours, self-contained or not, or one of another library; a hub."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from treeviews.models.config.training_presets import SIF_WORDS
from treeviews.models.config.views import is_mean, needed_stages
from treeviews.models.encoding.encoder_names import (
    BAG_OF_WORDS,
    SIF,
    EncoderName,
    parse_encoder_name,
)
from treeviews.models.exchange.export_card import (
    PARSERS_FOLDER,
    ExportOptions,
    write_card,
    write_ensemble_card,
    write_readme,
)
from treeviews.models.exchange.word_tables import (
    export_bag,
    word_table,
    write_modules,
    write_word_table,
)
from treeviews.models.model.card import (
    CARD_FILE,
    UNKNOWN_LICENCE,
    licence_of,
    made_with,
    model_card,
)
from treeviews.models.model.ensemble import MEMBERS_FOLDER, write_ensemble
from treeviews.models.model.hub import folder_called, upload_folder
from treeviews.models.model.model_description import (
    EXPANDED,
    MODEL_FILE,
    OPTION_OF_STAGE,
    WORDS_FOLDER,
    ModelDescription,
    find_parser,
    read_model_description,
    resolve_nearby,
)
from treeviews.models.model.model_folder import load_model, save_model
from treeviews.models.model.sentence_model import build_model
from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.pipeline.base.atomic_files import write_text_atomically
from treeviews.pipeline.base.bundled import BUNDLED_VECTORS, SHIPPED_VECTORS, shown
from treeviews.pipeline.base.inside import inside
from treeviews.pipeline.base.json_files import read_object
from treeviews.pipeline.parsers.parser_files import CHECKSUMS_NAME, SCORES_NAME, parser_file_names
from treeviews.pipeline.vectors.vector_folder import FOLDER_FILES, write_vectors

MODULE = "treeviews.sentence_transformers.ParsedSentences"
"""What sentence-transformers reads a model of ours by that is no table of words."""


def export_model(model: str | Path, out: Path, options: ExportOptions | None = None) -> None:
    """Writes a model as a folder to pass on.

    Args:
        model: its folder, the name of one that ships or of one of a hub (``hf://user/name``);
            several joined (``MODEL+MODEL``), or the folder of an ensemble; or ``bag_of_words`` or
            ``sif``, which are of a format of another library alone.
        out: the new folder.

    Raises:
        FileNotFoundError: no model there, or its corpus is gone and components are to be removed.
        ValueError: ``out`` holds something, an option is of another kind of model, or words or
            parsers are not found or could not be found by others; names the option that helps.
    """
    options = options or ExportOptions()
    with new_folder(out):
        name = parse_encoder_name(str(model))
        if name.kind == "joined":
            _export_ensemble(name, out, options)
        elif name.kind in (BAG_OF_WORDS, SIF):
            _export_baseline(name.kind, out, options)
        else:
            folder = folder_called(model)
            export = _export_ours if options.format == "treeviews" else _export_for_others
            export(folder, out, options)
            write_card(folder, out, options)
        if options.format != "treeviews":
            write_readme(out, options)


def push_model(
    model: str | Path,
    repo: str,
    options: ExportOptions | None = None,
    *,
    private: bool = False,
    endpoint: str | None = None,
) -> str:
    """Exports a model, self-contained, and puts it on a hub; returns the commit.

    Whoever loads it there needs nothing of its maker's machine.

    Args:
        model: as `export_model` takes it, or a folder that was exported for another library.
        repo: ``user/name``, made if it is not there.
        options: how it is exported.
        private: whether a new one is for its owner alone.
        endpoint: the hub's address; by default that of the environment (``HF_ENDPOINT``).

    Raises:
        FileNotFoundError, ValueError: see `export_model` and `upload_folder`.
    """
    folder = Path(model)
    if (folder / "modules.json").is_file() and not (folder / MODEL_FILE).is_file():
        return upload_folder(folder, repo, private=private, endpoint=endpoint)
    options = (options or ExportOptions()).changed(self_contained=True)
    with tempfile.TemporaryDirectory(prefix="treeviews-push-") as temporary:
        out = Path(temporary) / "model"
        export_model(model, out, options)
        write_readme(out, options)
        return upload_folder(out, repo, private=private, endpoint=endpoint)


@contextmanager
def new_folder(out: Path) -> Iterator[None]:
    """Leaves a folder that is empty or not there yet as it was, where writing into it fails.

    Raises:
        ValueError: it holds something.
    """
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out}: not empty; give a new folder")
    was_there = out.exists()
    try:
        yield
    except BaseException:
        if out.is_dir():
            for path in out.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            if not was_there:
                out.rmdir()
        raise


def _export_ensemble(name: EncoderName, out: Path, options: ExportOptions) -> None:
    """Writes joined models as one folder, each of them as a model's folder within it.

    Their weights go on as they are: a trained bag of words is not made smaller.

    Raises:
        ValueError: an option is of one model or of another library's format.
    """
    if options.num_words is not None or options.components or options.format != "treeviews":
        raise ValueError(
            f"{name.called}: several models; --words and --components are of one, and only "
            "--format treeviews holds several: export each by itself"
        )
    members = []
    for number, part in enumerate(name.parts):
        own = out / MEMBERS_FOLDER / f"{number}-{part.folder.resolve().name}"
        settled = read_model_description(part.folder).vectors.are_settled
        of_member = options.changed(vectors=None if settled else options.vectors, results=None)
        _export_whole(part.folder, own, of_member)
        write_card(part.folder, own, of_member)
        members.append((own, part.views))
    write_ensemble_card(out, name.shown, [own for own, _ in members], options)
    write_ensemble(out, members, made=made_with(), licence=options.licence)


def _export_ours(folder: Path, out: Path, options: ExportOptions) -> None:
    config = read_model_description(folder).config
    views = config.views
    is_of_bag = options.num_words is not None or options.components
    if is_of_bag and "BOW" not in views:
        raise ValueError(
            f"{folder}: --words and --components are of a bag of words, and its views are "
            f"{', '.join(views)}"
        )
    if is_of_bag or (set(views) == {"BOW"} and config.word_vectors == "trained"):
        export_bag(folder, out, options)
    else:
        _export_whole(folder, out, options)


def _export_whole(folder: Path, out: Path, options: ExportOptions) -> None:
    """Writes a model with its weights as they are."""
    description = read_model_description(folder)
    model = load_model(folder, vectors_path=options.vectors)
    parsers = _parsers_found(folder, description, options)
    inside_it = description.vectors.are_own or options.self_contained
    if not inside_it and description.vectors.checksum not in {
        load_word_vectors(path).checksum for path in SHIPPED_VECTORS
    }:
        raise ValueError(
            f"{folder}: its word vectors are none that ship "
            f"({', '.join(map(shown, SHIPPED_VECTORS))}), so nobody else would find them; give "
            "--self-contained, which puts them inside"
        )
    out.mkdir(parents=True, exist_ok=True)
    if inside_it:
        _copy_words(folder, description, out / WORDS_FOLDER, options.vectors)
    places = {stage: f"{PARSERS_FOLDER}/{stage}" for stage in parsers if options.self_contained}
    for stage, place in places.items():
        beside = (CHECKSUMS_NAME, SCORES_NAME, CARD_FILE)
        _copy_files(parsers[stage], out / place, (*parser_file_names(parsers[stage]), *beside))
    known = {stage: description.parser(stage) for stage in parsers}
    origin: dict[str, Any] = {
        "vectors": {
            "path": WORDS_FOLDER if inside_it else None,
            "checksum": description.vectors.checksum,
            "rms": description.vectors.rms,
        },
        "parsers": {
            stage: {"name": record.name, "checksum": record.checksum, "path": places.get(stage)}
            for stage, record in known.items()
        },
        **_said(folder, description, options),
    }
    save_model(out, model, origin)


def _said(folder: Path, description: ModelDescription, options: ExportOptions) -> dict[str, Any]:
    """Returns what goes on with a model wherever it goes."""
    value = read_object(folder / MODEL_FILE, (), remedy="get the folder anew")
    licence = options.licence or description.licence or licence_of(folder)
    kept = {"made": value.get("made", {}), "exported_with": made_with()}
    kept |= {name: value[name] for name in ("trained", EXPANDED) if name in value}
    return kept | ({} if licence == UNKNOWN_LICENCE else {"licence": licence})


def _parsers_found(
    folder: Path, description: ModelDescription, options: ExportOptions
) -> dict[str, Path]:
    """Returns where the parsers lie that a model's views read.

    Raises:
        ValueError: one is not found, or others would not find it.
    """
    found = {}
    for stage in needed_stages(description.config.views):
        record = description.parser(stage)
        given: Path | None = getattr(options, OPTION_OF_STAGE[stage])
        found[stage] = find_parser(stage, record, given)
        if options.self_contained:
            continue
        try:
            find_parser(stage, record.changed(path=None), None)
        except ValueError as error:
            raise ValueError(
                f"{folder}: its parser of {stage} is none that ships, so nobody else would find "
                "it; give --self-contained, which puts it inside"
            ) from error
    return found


def _copy_words(
    folder: Path, description: ModelDescription, target: Path, given: Path | None
) -> None:
    """Copies the word vectors, or writes them where they are a text file."""
    recorded = description.vectors
    place = inside(folder, str(recorded.path)) if recorded.are_own else given
    near = resolve_nearby(folder, recorded.nearby)
    places = [place] if place is not None else [recorded.path, near, *SHIPPED_VECTORS]
    place = next(p for p in places if p is not None and _holds(p, recorded.checksum))
    if place.is_dir():
        _copy_files(place, target, (*FOLDER_FILES, CARD_FILE))
        if not (target / CARD_FILE).is_file():
            _copy_files(place.parent, target, (CARD_FILE,))  # of a model whose words they are
        return
    whole = load_word_vectors(place)
    rows = whole.rows(np.arange(1, whole.num_words))
    facts = {"from": place.name, "words": len(whole.index)}
    write_vectors(target, whole.index.words, rows, facts, kept_as="float32")


def _copy_files(source: Path, target: Path, names: Iterable[str]) -> None:
    """Copies those files that are there."""
    for name in names:
        if (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)


def _holds(place: Path, checksum: str) -> bool:
    try:
        return load_word_vectors(place).checksum == checksum
    except (OSError, ValueError):
        return False


def _export_for_others(folder: Path, out: Path, options: ExportOptions) -> None:
    """Writes a folder that sentence-transformers opens; a table of words model2vec opens, too."""
    if options.num_words is not None or options.components:
        raise ValueError(
            "--words and --components are of --format treeviews: export with them first, then "
            f"export that folder with --format {options.format}"
        )
    config = read_model_description(folder).config
    is_static = all(map(is_mean, config.test_views)) and config.words_beside is None
    if is_static or options.format == "model2vec":
        try:
            model = load_model(folder, vectors_path=options.vectors)
            table = word_table(model)
        except ValueError as error:
            raise ValueError(f"{folder}: no table of words: {error}") from error
        out.mkdir(parents=True, exist_ok=True)
        write_word_table(out, model.vectors.words, table)
    else:
        _export_whole(folder, out, options.changed(self_contained=True))
        write_modules(out, MODULE)


def _export_baseline(name: str, out: Path, options: ExportOptions) -> None:
    """Writes word vectors themselves, or weighted by rarity, for another library."""
    if options.format == "treeviews":
        raise ValueError(
            f"{name}: word vectors and no model; give --format sentence-transformers or model2vec"
        )
    place = options.vectors or BUNDLED_VECTORS
    vectors = load_word_vectors(place)
    if name == SIF:
        table = word_table(build_model(SIF_WORDS, vectors, seed=0))
    else:
        table = vectors.rows(np.arange(vectors.num_words))
    out.mkdir(parents=True, exist_ok=True)
    write_word_table(out, vectors.words, table)
    text, licence = "none: the word vectors as they are", options.licence or licence_of(place)
    card = model_card(name, SIF_WORDS, made_with(), text=text, licence=licence)
    write_text_atomically(out / CARD_FILE, card)
