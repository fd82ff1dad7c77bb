"""A user's own function or object as an encoder whose answers are checked.

Legend: n sentences, b of a batch, d width.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

import numpy as np

from models.encoding.encoder_interface import FloatArray
from models.encoding.string_encoder import LAST, Asked, Progress, StringEncoder
from pipeline.base.digest import digest_of, sha256_of_file
from pipeline.base.watched import OwnPackages

Function = Callable[[list[str]], Any]

DEFAULT_BATCH_SIZE = 128
"""Sentences a call, as SentEval's own batches."""


class OwnEncoderError(ValueError):
    """A user's own code raised an exception, which is this one's cause."""


class CallableEncoder(StringEncoder):
    """Calls a function from sentences to vectors on batches, and refuses what is no embedding."""

    def __init__(
        self, function: Function, name: str, *, batch_size: int = DEFAULT_BATCH_SIZE
    ) -> None:
        """Takes the function.

        Args:
            function: from a list of b strings to a matrix [b, d] (numpy, torch or lists).
            name: for messages.
            batch_size: sentences of a call; 0 gives all of them in one.
        """
        if batch_size < 0:
            raise ValueError(f"batch_size must be 0 or more, not {batch_size}")
        self.name = name
        self.batch_size = batch_size
        self._function = function

    def _vectors(
        self, sentences: Sequence[str], asked: Asked, on_progress: Progress | None
    ) -> FloatArray:
        """Returns the embeddings, float32 [n, d].

        Raises:
            OwnEncoderError: the function raised an exception; names the function and the batch.
            ValueError: no sentences, a pooling, or an answer that is no finite matrix with a row a
                sentence and the width of the others.
        """
        if not sentences:
            raise ValueError(
                f"{self.name}: no sentences, and an encoder of one's own tells its width by its "
                "answer alone; give at least one"
            )
        if tuple(asked.pooling) != LAST:
            raise ValueError(f"{self.name}: gives no states to pool; leave out pooling")
        size = asked.batch_size or self.batch_size or len(sentences)
        batches: list[FloatArray] = []
        for start in range(0, len(sentences), size):
            batch = list(sentences[start : start + size])
            vectors = self._checked(self._answer(batch, start), batch, start)
            if batches and vectors.shape[1] != batches[0].shape[1]:
                raise ValueError(
                    f"{self.name}: {vectors.shape[1]} numbers a sentence from sentence {start} "
                    f"on, {batches[0].shape[1]} before; all embeddings must have one width"
                )
            batches.append(vectors)
            if on_progress is not None:
                on_progress(min(1.0, (start + size) / len(sentences)))
        return np.concatenate(batches)

    def _answer(self, batch: list[str], start: int) -> Any:
        try:
            return self._function(batch)
        except Exception as error:
            raise OwnEncoderError(
                f"{self.name}: raised {_in_words(error)} for sentences {start} to "
                f"{start + len(batch) - 1} (from 0), the first {batch[0][:80]!r}"
            ) from error

    def _checked(self, answer: Any, batch: list[str], start: int) -> FloatArray:
        if hasattr(answer, "detach"):  # a tensor, wherever it lies
            answer = answer.detach().float().cpu().numpy()
        try:
            vectors: FloatArray = np.asarray(answer, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{self.name}: gave {type(answer).__name__}, no matrix of numbers ({error})"
            ) from error
        if vectors.ndim != 2 or len(vectors) != len(batch) or not vectors.shape[1]:
            raise ValueError(
                f"{self.name}: gave shape {list(vectors.shape)} for {len(batch)} sentences; give "
                f"[{len(batch)}, d], one row a sentence"
            )
        wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(wrong):
            raise ValueError(
                f"{self.name}: the embedding of sentence {start + wrong[0]} is not finite: "
                f"{batch[wrong[0]][:80]!r}"
            )
        return vectors


def source_checksum(spec: str) -> str | None:
    """Returns the sha256 of the file of ``package.module:name``'s module; runs nothing of it.

    Of a package, or a module in one, it is a digest of all Python files of the package. What these
    import from elsewhere, and what they read, is not in it. None is returned where no file is
    found, as in an archive.
    """
    top = spec.partition(":")[0].partition(".")[0]
    found = PathFinder.find_spec(top, [str(Path.cwd())])
    if found is None or found.loader is None:  # a folder without __init__.py comes last in Python
        found = _spec_of(top) or found
    if found is None:
        return None
    if found.submodule_search_locations is None:
        file = Path(found.origin or "")
        return sha256_of_file(file) if file.is_file() else None
    files = {
        str(path.relative_to(place)): sha256_of_file(path)
        for place in found.submodule_search_locations
        for path in sorted(Path(place).rglob("*.py"))
    }
    return digest_of(files) if files else None


def kept_checksum(spec: str) -> str:
    """Returns `source_checksum` of a function whose results are kept.

    Raises:
        ValueError: no file of its module is found; names the remedy.
    """
    checksum = source_checksum(spec)
    if checksum is None:
        raise ValueError(
            f"encoder {spec}: no file of the module {spec.partition(':')[0]} is found, so nothing "
            "tells when it changes; run from the folder that holds it, put that into PYTHONPATH, "
            "or, with treeviews evaluate, leave out --encoder-version, which keeps nothing"
        )
    return checksum


def _spec_of(module: str) -> ModuleSpec | None:
    """Returns where a module that has no point in its name is found; imports nothing."""
    try:
        return importlib.util.find_spec(module)
    except ValueError:  # loaded, but from nowhere
        return None


def import_encoder(spec: str) -> tuple[Any, Function]:
    """Returns what ``package.module:name`` stands for and its function from strings to vectors.

    The name is an object with ``encode``, a function from a list of strings to vectors, or a
    function or class without arguments that gives one of these.

    Raises:
        OwnEncoderError: the module, or what makes the encoder, raised an exception; names it.
        ValueError: no such module or name, or it is no encoder; names the remedy.
    """
    module_name, _, attribute = spec.partition(":")
    _look_in_working_folder_first()
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise ValueError(
            f"{spec}: {module_name} cannot be imported ({error}); "
            f"{_remedy(module_name, error.name or '')}"
        ) from error
    except Exception as error:
        raise OwnEncoderError(
            f"{spec}: importing {module_name} raised {_in_words(error)}"
        ) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            public = [name for name in dir(found) if not name.startswith("_")]
            raise ValueError(f"{spec}: nothing called {part!r} there, only {', '.join(public)}")
        found = getattr(found, part)
    if _takes_nothing(found):
        try:
            found = found()
        except Exception as error:
            raise OwnEncoderError(f"{spec}: making it raised {_in_words(error)}") from error
    function = getattr(found, "encode", found)
    if not callable(function):
        raise ValueError(
            f"{spec}: {type(found).__name__} is no encoder; give a function from a list of "
            "strings to a matrix [n, d], or an object with such a method encode"
        )
    return found, function


def _look_in_working_folder_first() -> None:
    """As for a program that was started there; commands and jobs of ours are started elsewhere."""
    folder = str(Path.cwd())
    if folder not in sys.path[:1]:
        sys.path.insert(0, folder)


def _remedy(*modules: str) -> str:
    """Returns what to do about a module that is not found, or one that it imports."""
    for top in (module.partition(".")[0] for module in modules):
        if top in OwnPackages.names:
            return f"{top} is Treeviews' own package: give yours another name"
    return "run from the folder that holds it, or put that into PYTHONPATH"


def _in_words(error: Exception) -> str:
    said = str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _takes_nothing(found: Any) -> bool:
    """Returns whether something must be called to have an encoder: a class, or a maker of one."""
    if inspect.isclass(found):
        return True
    if hasattr(found, "encode") or not callable(found):
        return False
    try:
        return not inspect.signature(found).parameters
    except ValueError:  # built in, without a signature
        return False
