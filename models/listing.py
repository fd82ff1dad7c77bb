"""What stands in folders, read without loading or making anything.

What is in a work folder and how two of its folders differ: ``treeviews list`` and ``diff``. What a
model is: ``treeviews models show``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from treeviews.models.config.views import needed_stages
from treeviews.models.evaluation.scores import main_metric
from treeviews.models.evaluation.task_result import TaskResult, results_by_file
from treeviews.models.model.card import licence_of
from treeviews.models.model.ensemble import EnsembleDescription, is_ensemble, read_ensemble
from treeviews.models.model.hub import folder_called
from treeviews.models.model.model_description import (
    MODEL_FILE,
    ModelDescription,
    read_model_description,
)
from treeviews.pipeline.base.bundled import (
    BUNDLED_MODELS,
    BUNDLED_PARSERS,
    BUNDLED_VECTORS,
    shipped_parsers,
)
from treeviews.pipeline.base.json_files import read_object
from treeviews.pipeline.base.mistakes import did_you_mean, sentence_of
from treeviews.pipeline.shards.manifests import MANIFEST_NAME

CONFIG_NAME = "config.json"
_KINDS = {
    "corpora": "corpus",
    "models": "model",
    "evaluation/jobs": "results",
    "reports": "report",
    "experiments": "table",
}
"""Folder of the work folder -> what each folder in it is."""
_REMEDY = "delete the folder and run the stage again"


@dataclass(frozen=True, slots=True)
class Listed:
    """A corpus, model, report, table, or the results of an encoder."""

    kind: str
    name: str
    """Its folder in the work folder; of a model that ships the name that commands take."""
    about: str
    """Of a corpus its stages, of a model its seed, of results the encoder."""
    text: str
    """Folder of the corpus that it was made from, of a report the source in words."""
    made: float
    """When its configuration was written, in seconds since 1970."""
    num_bytes: int
    score: str
    """The main one; or what is wrong with its files."""


def listed(work_folder: Path) -> list[Listed]:
    """Returns what stands in a work folder, what was made last at the end of its kind.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    if not work_folder.is_dir():
        raise FileNotFoundError(f"{work_folder}: no such work folder; run something first")
    return [
        _listed(kind, folder, work_folder)
        for place, kind in _KINDS.items()
        for folder in sorted((work_folder / place).glob("*-*"), key=_when)
        if _configs(folder) or (folder / MODEL_FILE).is_file()
    ]


def shipped() -> list[Listed]:
    """Returns the models, parsers and word vectors that ship."""
    parsers = {name: at for one in BUNDLED_PARSERS for name, at in shipped_parsers(one).items()}
    kinds = {
        "model": BUNDLED_MODELS,
        "parser": parsers,
        "word vectors": {BUNDLED_VECTORS.name: BUNDLED_VECTORS},
    }
    return [
        Listed(kind, name, "ships", "", 0.0, bytes_below(folder), "")
        for kind, folders in kinds.items()
        for name, folder in folders.items()
    ]


def _listed(kind: str, folder: Path, work_folder: Path) -> Listed:
    try:
        about, text = _made_of(folder, work_folder)
        score = main_score(folder)
    except (OSError, ValueError, LookupError, TypeError) as error:
        about, text, score = "", "", f"damaged: {sentence_of(error)}"
    name = folder.relative_to(work_folder).as_posix()
    return Listed(kind, name, about, text, _when(folder), bytes_below(folder), score)


def _made_of(folder: Path, work_folder: Path) -> tuple[str, str]:
    """Returns what tells a folder from others of its kind, and the text that it was made from."""
    if (path := folder / "report.json").is_file():
        return "", _read(path)["corpus"]
    for result in _results(folder):
        return result.setup.encoder.name, result.data.derived_from
    if not (folder / CONFIG_NAME).is_file():
        return ", ".join(map(_stage_of, _configs(folder))), ""
    config = _read(folder / CONFIG_NAME)
    corpora = (work_folder / "corpora").glob(f"*-{config.get('sentences')}")
    seed = config.get("training", {}).get("seed")
    return "" if seed is None else f"seed {seed}", next((one.name for one in corpora), "")


def main_score(folder: Path) -> str:
    """Returns the first of `scores_in` a folder in words; empty where it has none."""
    for name, value in scores_in(folder).items():
        return f"{value:,.0f} {name}" if name == "sentences" else f"{name} {value:.1f}"
    return ""


def scores_in(folder: Path) -> dict[str, float]:
    """Returns the scores of a model, a report or of results; of a corpus how many sentences it has.

    Raises:
        OSError, ValueError: a file is damaged; names it.
        LookupError, TypeError: it is of a release that had other fields.
    """
    if (path := folder / "report.json").is_file():
        report = _read(path)
        seeds = report.get("trained_seeds")
        rows = ((row["name"], row["result"]["average"]) for row in report["rows"])
        means = {name: mean["value"] for name, mean in rows if mean}
        return {"mean of the seeds": seeds["average"], **means} if seeds else means
    if (path := folder / "summary.json").is_file():
        best = (_read(path)["held_out"] or {}).get("best")
        return {"held-out accuracy": 100 * best["accuracy"]} if best else {}
    for path in (folder / MANIFEST_NAME, folder / "sentences" / MANIFEST_NAME):
        if path.is_file() and "rows" in (manifest := _read(path)):
            return {"sentences": manifest["rows"]}
    results = list(_results(folder))
    scores = {each.task.name: each.scores[main_metric(each.task)].value for each in results}
    mean = sum(scores.values()) / max(1, len(scores))
    return {f"mean of {len(scores)} tasks": mean, **scores} if len(scores) > 1 else scores


def config_in(folder: Path) -> dict[str, Any]:
    """Returns the settings that a folder was made with, each by its keys joined by dots.

    Of a report those of all its stages, of results how the encoder was scored. Errors as for
    `scores_in`.
    """
    if (path := folder / "report.json").is_file():
        return _flat(_read(path)["config"])
    if result := next(_results(folder), None):
        return _flat(asdict(result.setup))
    if not (configs := _configs(folder)) and (folder / MODEL_FILE).is_file():
        return _flat({"training": model_facts(folder)["config"]})
    if configs == [folder / CONFIG_NAME]:
        return _flat(_read(configs[0]))
    return _flat({_stage_of(path): _read(path) for path in configs})


def _flat(value: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Returns the values of nested objects, lists as JSON."""
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            flat |= _flat(inner, f"{above}{name}.")
        else:
            flat[f"{above}{name}"] = json.dumps(inner) if isinstance(inner, list | tuple) else inner
    return flat


def difference(first: str, second: str, work_folder: Path) -> dict[str, dict[str, tuple[Any, Any]]]:
    """Returns the ``settings`` in which two folders differ, and all their ``scores`` side by side.

    None stands where one has no such value.

    Raises:
        FileNotFoundError: there is no such folder.
        ValueError: one holds nothing that can be compared, or is damaged or of another release.
    """
    sides: list[tuple[dict[str, Any], dict[str, float]]] = []
    for name in (first, second):
        places = (Path(name), work_folder / name, BUNDLED_MODELS.get(name, Path(name)))
        folder = next((place for place in places if place.is_dir()), None)
        if folder is None:
            there = listed(work_folder) if work_folder.is_dir() else []
            known = [each.name for each in (*shipped(), *there)]
            raise FileNotFoundError(
                f"{name}: no such folder; `treeviews list` names those that are there"
                f"{did_you_mean(name, known=known)}"
            )
        try:
            sides.append((config_in(folder), scores_in(folder)))
        except (LookupError, TypeError) as error:
            raise ValueError(
                f"{name}: damaged, or of another release ({error}); {_REMEDY}"
            ) from error
        if not any(sides[-1]):
            raise ValueError(
                f"{name}: neither settings nor scores there; give a folder of `treeviews list`"
            )
    config, scores = (
        {name: (a.get(name), b.get(name)) for name in {**a, **b}}
        for a, b in zip(*sides, strict=True)
    )
    differ = {name: pair for name, pair in config.items() if pair[0] != pair[1]}
    return {"settings": differ, "scores": scores}


def _results(folder: Path) -> Iterator[TaskResult]:
    """Yields the results in a folder, or of the job that it is of."""
    if (folder / MODEL_FILE).is_file():
        return
    folders = [folder]
    if folder.parent.name == "jobs" and (folder / CONFIG_NAME).is_file():
        place = folder.parents[1] / "results"
        digests = _read(folder / CONFIG_NAME).get("evaluations", ())
        folders = [found for digest in digests for found in sorted(place.glob(f"*-{digest}"))]
    for one in folders:
        for result in results_by_file(one).values():
            if isinstance(result, TaskResult):
                yield result


def _configs(folder: Path) -> list[Path]:
    """Returns the configuration of a folder; of a corpus those of its stages."""
    own = folder / CONFIG_NAME
    return [own] if own.is_file() else sorted(folder.glob(f"*/{CONFIG_NAME}"))


def _stage_of(config: Path) -> str:
    """Returns the name of a folder in a corpus without its digest: ``dependencies-dependency``."""
    name = config.parent.name
    return name.rpartition("-")[0] or name


def _when(folder: Path) -> float:
    return max((path.stat().st_mtime for path in _configs(folder)), default=folder.stat().st_mtime)


def _read(path: Path) -> dict[str, Any]:
    return read_object(path, (), remedy=_REMEDY)


def bytes_below(folder: Path) -> int:
    """Returns the bytes of the files in a folder and below; a link counts as itself."""
    size = 0
    with suppress(OSError), os.scandir(folder) as entries:  # what is gone meanwhile is left out
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            own = entry.stat(follow_symlinks=False).st_size
            size += bytes_below(Path(entry.path)) if is_folder else own
    return size


def size_in_words(num_bytes: float) -> str:
    """Returns a size as people read it: ``433 kB``, ``4.4 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if num_bytes < 1000:
            return f"{num_bytes:.{0 if unit in ('B', 'kB') or num_bytes >= 100 else 1}f} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:,.1f} TB"


def model_folder(called: str) -> Path:
    """Returns the folder of a model that ships, by its name, or of another, by its path.

    Raises:
        FileNotFoundError: there is none.
    """
    folder = folder_called(called)
    if not is_ensemble(folder) and not (folder / MODEL_FILE).is_file():
        raise FileNotFoundError(
            f"{called}: no model; give its folder, which holds {MODEL_FILE}, or one that ships: "
            f"{', '.join(BUNDLED_MODELS)}{did_you_mean(called, known=BUNDLED_MODELS)}"
        )
    return folder


def model_facts(folder: Path) -> dict[str, Any]:
    """Returns what a model is, as JSON has it; of an ensemble what its members are, too.

    Raises:
        FileNotFoundError: no model there.
        ValueError: it is damaged.
    """
    described: EnsembleDescription | ModelDescription
    if is_ensemble(folder):
        described, places = read_ensemble(folder)
        members = [model_facts(place) for place in places]
        pairs = zip(described.members, members, strict=True)
        own: dict[str, Any] = {
            "views": [view for m, facts in pairs for view in m.views or facts["views"]],
            "objective": ", ".join(dict.fromkeys(facts["objective"] for facts in members)),
            "needs": list(dict.fromkeys(stage for facts in members for stage in facts["needs"])),
            "seed": ", ".join(str(facts["seed"]) for facts in members),
            "members": members,
        }
    else:
        described = read_model_description(folder)
        # A small folder computes a mean of words; how these were trained stands beside that.
        as_trained = _read(folder / MODEL_FILE).get("trained", {}).get("config", {})
        trained = {**described.config.to_dict(), **as_trained}
        views = described.config.views
        own = {name: trained[name] for name in ("objective", "seed")}
        own |= {"views": list(views), "needs": needed_stages(views), "config": trained}
    return {
        "path": str(folder),
        "bytes": bytes_below(folder),
        "made": dict(described.made),
        "licence": described.licence or licence_of(folder),
        **own,
    }
