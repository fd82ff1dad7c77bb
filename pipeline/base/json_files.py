"""Files of JSON: read with one clear sentence where they are wrong, sealed against damage.

Whoever writes a folder writes a sealed file last: it holds the sha256 of its own content and of
files beside it. Whoever reads the folder finds out by it whether a bit has changed since. Files of
earlier releases hold no sha256 and are read as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from treeviews.pipeline.base.atomic_files import write_json_atomically
from treeviews.pipeline.base.digest import remembered_sha256, sha256_of_file
from treeviews.pipeline.base.mistakes import DamagedError
from treeviews.pipeline.base.refusal import shortened

SEAL = "content_sha256"
"""Key of the sha256 of all other keys and values."""
FILES = "file_sha256"
"""Key of the sha256 of files beside the sealed one, by their names."""
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which JSON can spell and UTF-8 cannot."""


def read_json(path: Path, *, remedy: str) -> Any:
    """Returns what a file of JSON says, that anybody may have written; see `unsealed`.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is no JSON, nests too deeply or is not what was sealed; one sentence names
            the file, what is wrong and the remedy.
    """
    try:
        return unsealed(path.read_bytes())
    except RecursionError:
        reason = "JSON that nests too deeply"
    except DamagedError as error:
        reason = f"damaged or edited ({error})"
    except ValueError as error:
        reason = f"not JSON ({error})"
    raise ValueError(f"{path}: {reason}; {remedy}")


def read_object(path: Path, names: Iterable[str], *, remedy: str) -> dict[str, Any]:
    """Returns the object in a file of JSON, of which these entries are read.

    Raises:
        FileNotFoundError: no such file.
        ValueError: as `read_json`, it holds no object, or one without some of these.
    """
    value = read_json(path, remedy=remedy)
    if not isinstance(value, dict):
        raise ValueError(f"{path}: must hold an object, got {shortened(value)}; {remedy}")
    if missing := [name for name in names if name not in value]:
        raise ValueError(f"{path}: lacks {', '.join(missing)}; {remedy}")
    return value


def read_strings(path: Path, *, remedy: str) -> list[str]:
    """Returns the strings of which a file of JSON holds a list.

    Raises:
        FileNotFoundError: no such file.
        ValueError: as `read_json`, or it holds anything else; names the first that is no string.
    """
    value = read_json(path, remedy=remedy)
    if not isinstance(value, list):
        raise ValueError(f"{path}: must hold a list of strings, got {shortened(value)}; {remedy}")
    for text in value:
        if not isinstance(text, str) or (not text.isascii() and _SURROGATE.search(text)):
            found = shortened(text)
            raise ValueError(f"{path}: must hold a list of strings, got {found}; {remedy}")
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def unsealed(content: bytes | str) -> Any:
    """Returns what a text of JSON says; where it is `sealed`, without its own sha256.

    Raises:
        ValueError: it is no JSON, holds NaN or an infinity, which JSON does not know, is not what
            was sealed, or says of files beside it what is no sha256 by name.
        RecursionError: it nests too deeply.
    """
    value = json.loads(content, parse_constant=_refuse_constant)
    if isinstance(value, dict) and SEAL in value:
        expected = value.pop(SEAL)
        if expected != _sha256_of(value):
            raise DamagedError(f"{SEAL} differs: it was changed after it was written")
    files = value.get(FILES, {}) if isinstance(value, dict) else {}
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        raise DamagedError(f"{FILES} must be an object of strings, got {shortened(files)}")
    return value


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


def check_file(path: Path, value: Mapping[str, Any], remedy: str) -> None:
    """Refuses a file that is another than the one of which a sealed file holds the sha256.

    The file is read once a process for as long as its size and time stay.

    Args:
        path: the file; one that the value does not know is not checked.
        value: of the sealed file beside it, as `read_object` gives it.
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
