"""A user's own function or object within an encoder: its answers are checked.

Legend: n sentences, b of a batch, d width.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from treeviews.models.config.views import Pooling
from treeviews.models.encoding.search import FloatArray, matrix_of
from treeviews.pipeline.base.digest import digest_of, sha256_of_file
from treeviews.pipeline.base.mistakes import did_you_mean

Function = Callable[[list[str]], Any]
Progress = Callable[[float], None]
"""Takes the share of the sentences done, 0 to 1."""

DEFAULT_BATCH_SIZE = 128
"""Sentences a call, as SentEval's own batches."""


class OwnEncoderError(ValueError):
    """A user's own code raised an exception, which is this one's cause."""


class OwnFunction:
    """Calls a function from sentences to vectors on batches, and refuses what is no embedding."""

    def __init__(self, function: Function, name: str) -> None:
        """Takes the function.

        Args:
            function: from a list of b strings to a matrix [b, d] (numpy, torch or lists).
            name: for messages.
        """
        self.name = name
        self._function = function

    def encode(
        self,
        sentences: Sequence[str],
        pooling: Sequence[Pooling],
        batch_size: int | None,
        on_progress: Progress | None,
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
        if tuple(pooling) != ("last",):
            raise ValueError(f"{self.name}: gives no states to pool; leave out pooling")
        size = batch_size or DEFAULT_BATCH_SIZE
        batches: list[FloatArray] = []
        for start in range(0, len(sentences), size):
            batch = list(sentences[start : start + size])
            places = f"sentences {start} to {start + len(batch) - 1} (from 0)"
            with _own_code(f"{self.name}: {places}, the first {batch[0][:80]!r},"):
                answer = self._function(batch)
            vectors = self._checked(answer, batch, start)
            batches.append(vectors)
            if len({vectors.shape[1] for vectors in batches}) > 1:
                raise ValueError(f"{self.name}: another width from sentence {start} on")
            if on_progress is not None:
                on_progress(min(1.0, (start + size) / len(sentences)))
        return np.concatenate(batches)

    def _checked(self, answer: Any, batch: list[str], start: int) -> FloatArray:
        try:
            vectors = matrix_of(answer)
        except ValueError as error:
            raise ValueError(f"{self.name}: gave {type(answer).__name__}: {error}") from error
        if len(vectors) != len(batch) or not vectors.shape[1]:
            shape = list(getattr(answer, "shape", vectors.shape))
            if isinstance(answer, list | tuple) and len(answer) != len(vectors):
                shape = [len(answer)]  # one row of numbers
            raise ValueError(
                f"{self.name}: gave shape {shape} for {len(batch)} sentences; give "
                f"[{len(batch)}, d], one row a sentence"
            )
        wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(wrong):
            raise ValueError(
                f"{self.name}: the embedding of sentence {start + wrong[0]} is not finite: "
                f"{batch[wrong[0]][:80]!r}"
            )
        return vectors


@contextmanager
def _own_code(what: str) -> Iterator[None]:
    """Says of an exception of the user's code where it was raised.

    Raises:
        OwnEncoderError: there was one.
    """
    try:
        yield
    except Exception as error:
        message = f": {error}" if str(error) else ""
        raise OwnEncoderError(f"{what} raised {type(error).__name__}{message}") from error


def kept_checksum(spec: str) -> str:
    """Returns the sha256 of the file of ``package.module:name``'s module; runs nothing of it.

    Of a package, or a module in one, it is a digest of all Python files of the package. What these
    import from elsewhere, and what they read, is not in it.

    Raises:
        ValueError: no file of its module is found, as in an archive; names the remedy.
    """
    module = spec.partition(":")[0]
    found = PathFinder.find_spec(module.partition(".")[0], [str(Path.cwd()), *sys.path])
    places = found and (found.submodule_search_locations or [found.origin or "/nowhere"])
    files = {
        str(path.relative_to(place)): sha256_of_file(path)
        for place in map(Path, places or [])
        for path in ([place] if place.is_file() else sorted(place.rglob("*.py")))
    }
    if found is None or not files:
        raise ValueError(
            f"encoder {spec}: no file of the module {module} is found, so nothing "
            "tells when it changes; run from the folder that holds it, put that into PYTHONPATH, "
            "or, with treeviews evaluate, leave out --encoder-version, which keeps nothing"
        )
    is_package = found.submodule_search_locations is not None
    return digest_of(files) if is_package else next(iter(files.values()))


def import_function(spec: str) -> Function:
    """Returns the function from strings to vectors that ``package.module:name`` stands for.

    The name is an object with ``encode``, a function from a list of strings to vectors, or a
    function or class without arguments that gives one of these.

    Raises:
        OwnEncoderError: the module, or what makes the encoder, raised an exception; names it.
        ValueError: no such module or name, or it is no encoder; names the remedy.
    """
    module_name, _, attribute = spec.partition(":")
    if sys.path[:1] != [str(Path.cwd())]:  # commands and jobs of ours are started elsewhere
        sys.path.insert(0, str(Path.cwd()))
    try:
        with _own_code(f"{spec}: importing {module_name}"):
            value: Any = importlib.import_module(module_name)
    except OwnEncoderError as error:
        if not isinstance(cause := error.__cause__, ImportError):
            raise
        raise ValueError(
            f"{spec}: {module_name} cannot be imported ({cause}); "
            "run from the folder that holds it, or put that into PYTHONPATH"
        ) from cause
    try:
        value = attrgetter(attribute)(value)
    except AttributeError as error:
        known = [name for name in dir(error.obj) if not name.startswith("_")]
        raise ValueError(f"{spec}: {error}{did_you_mean(str(error.name), known=known)}") from None
    if inspect.isclass(value) or (
        inspect.isfunction(value) and not inspect.signature(value).parameters
    ):
        with _own_code(f"{spec}: making it"):
            value = value()
    function: Function = getattr(value, "encode", value)
    if not callable(function):
        raise ValueError(
            f"{spec}: {type(value).__name__} is no encoder; give a function from a list of "
            "strings to a matrix [n, d], or an object with such a method encode"
        )
    return function
