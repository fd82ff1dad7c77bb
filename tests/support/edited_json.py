"""Files of JSON changed by hand, so that their sha256 fits what was made of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treeviews.pipeline.base.json_files import SEAL, sealed


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Applies a change to a file's value and gives it the sha256 of the new one."""
    value = json.loads(path.read_text(encoding="utf-8"))
    value.pop(SEAL, None)
    change(value)
    path.write_text(json.dumps(sealed(value), indent=1, sort_keys=True) + "\n", encoding="utf-8")


def replace(path: Path, old: str, new: str) -> None:
    """Replaces text in a file and gives it the sha256 of what comes out."""
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    edit(path, lambda value: value)
