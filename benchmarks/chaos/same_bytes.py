"""Compares what two runs left behind, but for what it says of the runs rather than of results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.base.digest import sha256_of_file

OF_THE_RUN = frozenset(
    {
        *("seconds", "sentences_per_second", "rows_per_second"),
        *("peak_memory_gib", "data_wait_percent", "content_sha256", "commit"),
    }
)
"""Fields that tell of the run itself, and the sha256 of JSON that has such fields."""
_NOT_PROMISED = re.compile(
    r"^runs/|(^|/)(jobs/|tensorboard/|job\.json$|plan\.json$|published-|[^/]*\.lock$)"
    r"|^reports/[^/]*/(report\.html|stages\.svg)$"
)
"""Records of runs, what jobs were told, where text is, events with times, copies noted, locks; a
report's page, which says what its Markdown does, and the drawing of times and sizes."""
_STAGES = re.compile(r"^## From documents to training$.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_TIMES = re.compile(r"(?<=\|)[^|\n]*\|[^|\n]*\|$", re.MULTILINE)
"""The last two columns of their table: seconds, and rows a second."""
_SPEED = re.compile(
    r"[\d.,]+ s, [\d.,]+ sentences/s|^- (Commit|Machine): .*$|\d+ stages; together [^\n]*",
    re.MULTILINE,
)
_TEXTS = frozenset({".json", ".jsonl", ".md"})
"""Files that tell of the run, too."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


def differences(expected: Path, found: Path) -> list[str]:
    """Returns what differs between two folders, a line a file; nothing where all is the same.

    Folders of which nothing is compared differ, too.

    Files are compared byte by byte. Of JSON and of reports, times, rates and the commit are left
    out, and the sha256 of such a file stands for the file, which is compared itself.
    """
    contents = [dict(_contents(folder)) for folder in (expected, found)]
    whole, other = contents
    if not whole:
        return [f"{expected} holds nothing to compare"]
    lines = [f"{name} is missing" for name in sorted(whole.keys() - other.keys())]
    lines += [f"{name} is too much" for name in sorted(other.keys() - whole.keys())]
    shared = sorted(whole.keys() & other.keys())
    return lines + [f"{name} differs" for name in shared if whole[name] != other[name]]


def _contents(folder: Path) -> Iterator[tuple[str, str]]:
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*"))}
    files = {name: path for name, path in paths.items() if path.is_file()}
    sums = {name: sha256_of_file(path) for name, path in files.items()}
    of_files = {sums[name]: name for name, path in files.items() if path.suffix in _TEXTS}
    for name, path in files.items():
        if _NOT_PROMISED.search(name) is None:
            yield name, _comparable(path, of_files) or sums[name]


def _comparable(path: Path, of_files: Mapping[str, str]) -> str:
    """Returns a file's text without times; nothing of a file that has none."""
    if path.suffix not in _TEXTS:
        return ""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return _SPEED.sub("", _STAGES.sub(lambda stages: _TIMES.sub("", stages[0]), text))
    try:
        values = [
            json.loads(part) for part in (text.splitlines() if ".jsonl" in path.name else [text])
        ]
    except ValueError:
        return ""
    timeless = [_without_times(value) for value in values]
    named = _SHA256.sub(lambda found: of_files.get(found[0], found[0]), json.dumps(timeless))
    return json.dumps(json.loads(named), sort_keys=True)


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if k not in OF_THE_RUN}
    return [_without_times(item) for item in value] if isinstance(value, list) else value
