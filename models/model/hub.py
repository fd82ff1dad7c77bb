"""Models of a hub: ``hf://user/name`` as a folder here, and a folder as a model there.

The hub is Hugging Face's, or any that speaks its language. What comes from it is a stranger's: only
files of text and tensors are taken, each is held against what ``model.json`` seals before the
folder has its name, and nothing of it is run. The one file that knows huggingface_hub.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from treeviews.models.model.ensemble import is_ensemble, read_ensemble
from treeviews.models.model.model_description import (
    MODEL_FILE,
    REMEDY,
    WEIGHTS_FILE,
    find_parser,
    read_model_description,
    vectors_of_model,
)
from treeviews.pipeline.base.bundled import BUNDLED_MODELS, how_to_install
from treeviews.pipeline.base.inside import inside
from treeviews.pipeline.base.json_files import FILES, check_file, read_object

SCHEME = "hf://"
TAKEN = ("*.json", "*.safetensors", "*.md", "*.txt")
"""Files that are fetched; no pickle and no code is among them."""
_NAME = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def folder_called(model: str | Path) -> Path:
    """Returns the folder of a model: one that ships, one of a hub, which is fetched, or a path.

    Args:
        model: ``english``, ``hf://user/name``, ``hf://user/name@revision`` or a path.

    Raises:
        ValueError: see `fetch_model`.
    """
    called = str(model)
    if called.startswith(SCHEME):
        return fetch_model(called)
    return BUNDLED_MODELS.get(called, Path(model))


def fetch_model(called: str, *, endpoint: str | None = None, cache: Path | None = None) -> Path:
    """Returns the folder of a model of a hub; fetched once a commit.

    A model that was fetched by the full number of its commit needs no network again.

    Args:
        called: ``user/name``, with ``hf://`` or without; ``@revision``, a branch, tag or commit,
            may follow, else it is the newest of the main branch.
        endpoint: the hub's address; by default that of the environment (``HF_ENDPOINT``).
        cache: where models are kept; by default ``treeviews`` beside huggingface_hub's own.

    Raises:
        ModuleNotFoundError: huggingface_hub is not installed.
        ValueError: no such model or revision there, the hub is not reached, or what it gave is no
            whole model.
    """
    repo, revision = _parsed(called)
    home = cache or Path(_library().constants.HF_HOME) / "treeviews"
    base = home / repo.replace("/", "--")
    if revision and _COMMIT.fullmatch(revision) and (base / revision).is_dir():
        return base / revision
    hub = _library()
    with _hub_errors(repo, revision):
        api = hub.HfApi(endpoint=endpoint)
        info = api.model_info(repo, revision=revision)
    commit = str(info.sha)
    if not _COMMIT.fullmatch(commit):
        raise ValueError(f"{repo}: the hub names no commit; give another endpoint")
    folder = base / commit
    if folder.is_dir():
        return folder
    base.mkdir(parents=True, exist_ok=True)
    for sibling in info.siblings or ():
        inside(base, sibling.rfilename)
    with tempfile.TemporaryDirectory(dir=base, prefix=".unfinished-") as unfinished:
        fetched = Path(unfinished) / "model"
        with _hub_errors(repo, revision):
            api.snapshot_download(
                repo, revision=commit, local_dir=fetched, allow_patterns=list(TAKEN)
            )
        shutil.rmtree(fetched / ".cache", ignore_errors=True)
        try:
            check_model_folder(fetched)
        except ValueError as error:
            raise ValueError(f"{repo}@{commit}: no whole model on the hub: {error}") from error
        try:
            fetched.rename(folder)
        except OSError:
            if not folder.is_dir():  # where it is, another process fetched the same commit
                raise
    return folder


def upload_folder(
    folder: Path,
    repo: str,
    *,
    private: bool = False,
    endpoint: str | None = None,
) -> str:
    """Puts a folder on a hub, as one commit; returns the commit.

    Args:
        repo: ``user/name``, which is made if it is not there.
        private: whether it is made for its owner alone.

    Raises:
        ModuleNotFoundError: huggingface_hub is not installed.
        ValueError: the name is none, or the hub is not reached or refuses.
    """
    repo, revision = _parsed(repo)
    if revision:
        raise ValueError(f"{repo}@{revision}: a push makes a commit of its own; leave out @…")
    hub = _library()
    with _hub_errors(repo, None):
        api = hub.HfApi(endpoint=endpoint)
        api.create_repo(repo, private=private, exist_ok=True)
        try:
            api.upload_folder(
                repo_id=repo,
                folder_path=folder,
                commit_message="A model of Treeviews",
                allow_patterns=list(TAKEN),
            )
        except ValueError as error:
            # The commit stands; the library cannot read its address on a hub that is not the one
            # of the environment.
            if "Unable to retrieve user and repo ID" not in str(error):
                raise
        return str(api.model_info(repo).sha)


def check_model_folder(folder: Path) -> None:
    """Holds every file that a model stands on against its checksum; of what is inside alone.

    Raises:
        ValueError: no model, a file is damaged or missing, or one would lie outside.
    """
    if is_ensemble(folder):
        for member in read_ensemble(folder)[1]:
            check_model_folder(member)
        return
    if not (folder / MODEL_FILE).is_file():
        raise ValueError(f"{folder}: no {MODEL_FILE}, so it is no model of Treeviews")
    description = read_model_description(folder)
    sealed = read_object(folder / MODEL_FILE, (), remedy=REMEDY)
    if WEIGHTS_FILE not in sealed.get(FILES, {}):
        raise ValueError(f"{folder / MODEL_FILE}: seals no weights; {REMEDY}")
    check_file(inside(folder, WEIGHTS_FILE), sealed, REMEDY)
    if description.vectors.are_own:
        vectors_of_model(folder, description, whole=True)
    for stage, record in description.parsers.items():
        if record.path is not None and record.path.is_relative_to(folder):
            find_parser(stage, record, record.path)


def _parsed(called: str) -> tuple[str, str | None]:
    found = _NAME.fullmatch(called.removeprefix(SCHEME))
    if found is None:
        raise ValueError(f"{called!r}: give user/name of a model, with @revision or without")
    return found["repo"], found["revision"]


def _library() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.constants  # the library does not load it by itself
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"models of a hub need huggingface_hub: {how_to_install('hub')}"
        ) from error
    return huggingface_hub


@contextmanager
def _hub_errors(repo: str, revision: str | None) -> Iterator[None]:
    """Raises what goes wrong with a hub as one sentence."""
    from huggingface_hub import errors

    at = f"{repo}@{revision}" if revision else repo
    try:
        yield
    except (OSError, errors.HFValidationError) as error:
        raise ValueError(
            f"{at}: {type(error).__name__}: {(str(error) or 'no answer').splitlines()[0]}; check "
            "the name, the connection and HF_ENDPOINT, and log in (hf auth login) where the model "
            "is private"
        ) from error
