"""JSON files that hold the sha256 of their own content and of files beside them.

Whoever writes a folder writes such a file last; whoever reads the folder finds out by it whether a
bit has changed since. Files of earlier releases hold no sha256 and are read as they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.base.atomic_files import write_json_atomically
from pipeline.base.digest import remembered_sha256, sha256_of_file

SEAL = "content_sha256"
"""Key of the sha256 of all other keys and values."""
FILES = "file_sha256"
"""Key of the sha256 of files beside the sealed one, by their names."""


def sealed(value: Mapping[str, Any], files: Iterable[Path] = ()) -> dict[str, Any]:
    """Returns a value with the sha256 of these files and of itself.

    Args:
        value: JSON-serialisable.
        files: whole, and in the folder in which the value will stand.
    """
    of_files = {file.name: sha256_of_file(file) for file in files}
    whole = {**value, FILES: of_files} if of_files else dict(value)
    return {**whole, SEAL: _sha256_of(json.loads(json.dumps(whole)))}


def write_sealed_json(path: Path, value: Mapping[str, Any], files: Iterable[Path] = ()) -> None:
    """Writes `sealed` JSON that appears whole or not at all."""
    write_json_atomically(path, sealed(value, files))


def unsealed(content: bytes) -> Any:
    """Returns the value of a file's content, without the sha256 of itself.

    Raises:
        ValueError: not JSON, or not the content that was written.
    """
    value = json.loads(content)
    if not isinstance(value, dict) or SEAL not in value:
        return value
    expected = value.pop(SEAL)
    if expected != _sha256_of(value):
        raise ValueError(f"{SEAL} differs: the file was changed after it was written")
    return value


def read_sealed_json(path: Path, remedy: str) -> Any:
    """Returns the value of a file, see `unsealed`.

    Args:
        remedy: what to do where the file is damaged, such as ``train again``.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is damaged; names the file and the remedy.
    """
    try:
        return unsealed(path.read_bytes())
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON ({error}); {remedy}") from error
    except ValueError as error:
        raise ValueError(f"{path}: damaged or edited ({error}); {remedy}") from error


def check_file(path: Path, value: Mapping[str, Any], remedy: str) -> None:
    """Refuses a file that is another than the one of which a sealed file holds the sha256.

    The file is read once a process for as long as its size and time stay.

    Args:
        path: the file; one that the value does not know is not checked.
        value: of the sealed file beside it.
        remedy: what to do where the file is damaged.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is damaged; names the file and the remedy.
    """
    known = value.get(FILES, {})
    if path.name in known and remembered_sha256(path) != known[path.name]:
        raise ValueError(
            f"{path}: damaged or of another run: its sha256 is not the one noted when it was "
            f"written; {remedy}"
        )


def _sha256_of(value: Any) -> str:
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()
