"""The encoder that the last call asked for, whatever it was given as; for calls without one."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

from models.encoding.encoder_interface import Encoder
from models.encoding.named_encoder import own_encoder, string_encoder
from models.encoding.reading_encoder import EncoderSettings, OnRefusal
from models.encoding.string_encoder import StringEncoder
from models.model.model_description import MODEL_FILE

_lock = Lock()
_kept: tuple[object, StringEncoder] | None = None


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
    global _kept  # noqa: PLW0603 - one encoder a process, whoever asks
    if isinstance(given, StringEncoder):
        return given
    settings = EncoderSettings(device=device, on_refusal=on_refusal)
    if not isinstance(given, str | Path):
        function: Any = given.encode if isinstance(given, Encoder) else given
        if not callable(function):
            raise ValueError(
                f"{type(given).__name__} is no encoder; give a name, a model's folder, an object "
                "with a method encode, or a function from a list of strings to a matrix [n, d]"
            )
        return own_encoder(function, getattr(given, "__name__", type(given).__name__), settings)
    key = (str(given), device, on_refusal, _written(Path(given)))
    with _lock:
        if _kept is None or _kept[0] != key:
            _kept = None  # frees the memory before more is taken
            _kept = key, string_encoder(str(given), settings)
        return _kept[1]


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
    """Returns when a model's folder was written, 0 of what is none: it may be trained again."""
    try:
        return (folder / MODEL_FILE).stat().st_mtime_ns
    except OSError:
        return 0
