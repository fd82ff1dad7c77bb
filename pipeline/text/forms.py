"""The file of known forms: what spaCy makes of chunks of ordinary text, once and for all.

Importing spaCy takes two seconds (its thinc imports torch), and a new process that encodes a few
sentences asks it about forms that thousands before have asked about. The file has those, under the
versions of spaCy and of our rules; with others it is passed over and spaCy is asked, as it is about
every form that is not in the file. It is made by ``python -m pipeline.text.make_forms``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.base.json_files import read_object, write_sealed_json
from pipeline.text.chunks import KnownForms

logger = logging.getLogger(__name__)

_REMEDY = "get the file anew, or make it by python -m pipeline.text.make_forms"
_FIELDS = ("rules", "named", "forms")


def write_forms(path: Path, rules: Mapping[str, Any], known: KnownForms) -> None:
    """Writes forms under the versions of the rules that cut them."""
    values = [dict(rules), sorted(known.named), list(known.forms)]
    write_sealed_json(path, dict(zip(_FIELDS, values, strict=True)))


def read_forms(path: Path, rules: Mapping[str, Any]) -> KnownForms | None:
    """Returns the forms of a file, or None if there is none, or it is of other rules.

    A damaged file is said and passed over: all that it tells can be asked of spaCy.

    Args:
        path: as `write_forms` wrote it.
        rules: versions.
    """
    return _read(path, tuple(sorted(rules.items())))


def forms_of_any_rules(path: Path) -> list[str]:
    """Returns the forms of a file, cut as its rules have it, whichever they are; of no file, none.

    Raises:
        ValueError: the file is damaged.
    """
    try:
        forms: list[str] = read_object(path, _FIELDS, remedy=_REMEDY)["forms"]
    except FileNotFoundError:
        return []
    return forms


@cache
def _read(path: Path, rules: tuple[tuple[str, Any], ...]) -> KnownForms | None:
    try:
        values = read_object(path, _FIELDS, remedy=_REMEDY)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        logger.warning("spaCy is asked about every form: %s", error)
        return None
    if values["rules"] != dict(rules):
        return None
    return KnownForms(frozenset(values["named"]), values["forms"])
