"""The encoder that the last call asked for, whatever it was given as; for calls without one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from models.encoding.encoder_interface import Encoder
from models.encoding.encoder_names import parse_encoder_name
from models.encoding.named_encoder import own_encoder, string_encoder
from models.encoding.reading_encoder import EncoderSettings, OnRefusal
from models.encoding.string_encoder import StringEncoder
from models.model.model_description import MODEL_FILE


@dataclass(frozen=True, slots=True)
class _Kept:
    asked: tuple[str, ...]
    """What it was asked for by, and from where: a folder's path may be relative."""
    written: dict[Path, int]
    """Each folder of a model that it stands on, and when that was written."""
    encoder: StringEncoder

    def is_for(self, asked: tuple[str, ...]) -> bool:
        return self.asked == asked and all(_written(p) == t for p, t in self.written.items())


_lock = Lock()
_kept: _Kept | None = None


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
    asked = (str(given), device, on_refusal, str(Path.cwd()))
    with _lock:
        if _kept is not None and _kept.is_for(asked):
            return _kept.encoder
        _kept = None  # frees the memory before more is taken
    # Outside the lock: a module of the user's own may encode something when it is imported.
    encoder = string_encoder(str(given), settings)
    with _lock:
        _kept = _Kept(asked, {folder: _written(folder) for folder in _folders(encoder)}, encoder)
    return encoder


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


def _folders(encoder: StringEncoder) -> list[Path]:
    """Returns the folders of the models that an encoder stands on."""
    if encoder.origin is None:
        return []
    return [part.folder for part in parse_encoder_name(encoder.origin["called"]).parts]


def _written(folder: Path) -> int:
    """Returns when a model's folder was written, 0 of what is none: it may be trained again."""
    try:
        return (folder / MODEL_FILE).stat().st_mtime_ns
    except OSError:
        return 0
