"""The encoder that the last call asked for, whatever it was given as; for calls without one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from models.encoding.encoder_interface import Encoder
from models.encoding.encoder_names import parse_encoder_name
from models.encoding.named_encoder import own_encoder, string_encoder
from models.encoding.reading_encoder import EncoderSettings, OnRefusal
from models.encoding.string_encoder import StringEncoder
from models.model.hub import SCHEME
from models.model.model_description import MODEL_FILE


def encoder_of(
    given: object, *, device: str = "cpu", on_refusal: OnRefusal = "error"
) -> StringEncoder:
    """Returns the encoder that something stands for; one by name is kept until another is asked.

    Args:
        given: a name or folder, an encoder, or a function from strings to a matrix.
        device: of one by name.
        on_refusal: of one by name.

    Raises:
        FileNotFoundError: no such encoder.
        ValueError: see `string_encoder`; or it is nothing that encodes.
    """
    if isinstance(given, StringEncoder):
        return given
    settings = EncoderSettings(device=device, on_refusal=on_refusal)
    if isinstance(given, str | Path):
        called = str(given)
        # A hub is asked once: what a name of its stands for is not looked up for the key.
        parts = () if SCHEME in called else parse_encoder_name(called).parts
        written = tuple((part.folder.resolve(), _written(part.folder)) for part in parts)
        return _kept(called, settings, written)
    function: Any = given.encode if isinstance(given, Encoder) else given
    if not callable(function):
        raise ValueError(
            f"{type(given).__name__} is no encoder; give a name, a model's folder, an object "
            "with a method encode, or a function from a list of strings to a matrix [n, d]"
        )
    return own_encoder(function, getattr(given, "__name__", type(given).__name__), settings)


@lru_cache(maxsize=1)
def _kept(
    called: str, settings: EncoderSettings, written: tuple[tuple[Path, int], ...]
) -> StringEncoder:
    """Returns the encoder of a name.

    Args:
        written: each folder of a model that it stands on, and when that was written.
    """
    del written  # part of the key only: the model of a folder may be trained again
    return string_encoder(called, settings)


def vectors_of(given: Any, encoder: object) -> Any:
    """Returns vectors as they are, and sentences encoded.

    Args:
        given: vectors, one string, or a list of strings.
        encoder: see `encoder_of`.

    Raises:
        ValueError: a list of strings and something else.
    """
    if isinstance(given, str):
        return encoder_of(encoder).encode(given)
    if isinstance(given, list | tuple) and given and isinstance(given[0], str):
        return encoder_of(encoder).encode(given)
    return given


def _written(folder: Path) -> int:
    """Returns when a model's folder was written, 0 of what is none."""
    try:
        return (folder / MODEL_FILE).stat().st_mtime_ns
    except OSError:
        return 0
