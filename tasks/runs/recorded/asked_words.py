"""What runs were asked for with, in words: first the options in which those of a stage differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.base.foreign_text import printable
from tasks.runs.parameters import option_of
from tasks.runs.records import Record
from tasks.runs.words import value_in_words, wrapped

_SHORTEST = 40
"""Characters that a value is cut to where that tells it from the others; no fewer are cut off."""
_ALIKE = "(options as those of another run; runs diff tells more)"


def asked_lines(records: Sequence[Record], width: int | None) -> list[list[str]]:
    """Returns what each run was asked for, in the order of the runs.

    Its stage, the options in which runs of that stage differ, in full or as much of them as tells
    them apart, over as many lines as that takes; then of the others those that fit.

    Args:
        records: of the runs that are listed.
        width: characters of a line; None where any number fits.
    """
    alike: dict[str, list[Record]] = {}
    for record in records:
        alike.setdefault(record.stage, []).append(record)
    told = {stage: _differing(of_stage) for stage, of_stage in alike.items()}
    return [_lines(record, told[record.stage], alike[record.stage], width) for record in records]


def options_in_words(parameters: Mapping[str, Any]) -> list[str]:
    """Returns parameters as they are typed, without quotes."""
    words = []
    for name, value in parameters.items():
        words += [option_of(name)] if value is True else [option_of(name), _value(value)]
    return words


def _lines(
    record: Record,
    differing: Mapping[str, Mapping[str, str]],
    alike: Sequence[Record],
    width: int | None,
) -> list[str]:
    first = [record.stage]
    for name, values in differing.items():
        if name in record.parameters:
            words = [option_of(name), values[_full(record.parameters[name])]]
            first.append(" ".join(filter(None, words)))
    if sum(one.parameters == record.parameters for one in alike) > 1:
        first.append(_ALIKE)
    rest = [
        printable(" ".join(options_in_words({name: value})))
        for name, value in record.parameters.items()
        if name not in differing
    ]
    if width is None:
        return [printable(" ".join([*first, *rest]))]
    lines = wrapped(printable(" ".join(first)), width)
    return [*lines[:-1], _filled(lines[-1], rest, width)]


def _filled(line: str, options: Sequence[str], width: int) -> str:
    """Returns a line with those of some options that fit, and a sign where some do not."""
    if len(" ".join([line, *options])) <= width:
        return " ".join([line, *options])
    for option in options:
        if len(f"{line} {option} …") <= width:
            line = f"{line} {option}"
    return f"{line} …" if len(line) + 2 <= width else line


def _differing(records: Sequence[Record]) -> dict[str, dict[str, str]]:
    """Returns the options in which runs differ -> each value that is given -> it in words."""
    found = {}
    for name in sorted({name for record in records for name in record.parameters}):
        given = [one.parameters[name] for one in records if name in one.parameters]
        if len(given) < len(records) or len(set(map(_full, given))) > 1:
            found[name] = _told_apart(given)
    return found


def _told_apart(values: Sequence[Any]) -> dict[str, str]:
    """Returns values, as JSON -> in words, each cut to as few characters as tell all apart."""
    texts = {_full(value): _in_full(value) for value in values}
    if len(set(texts.values())) < len(texts):  # such as lists of other parts: a,b of one or of two
        texts = {full: full for full in texts}
    length, most = _SHORTEST, max(map(len, texts.values()))
    while True:
        cut = {
            full: text if len(text) <= length + _SHORTEST else f"{text[:length]} …"
            for full, text in texts.items()
        }
        if length >= most or len(set(cut.values())) == len(texts):
            return cut
        length *= 2


def _in_full(value: Any) -> str:
    """Returns a value in words, however long it is; nothing of a flag, which has none."""
    if value is True:
        return ""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, Mapping):
        return json.dumps(value, sort_keys=True)
    return _value(value)


def _full(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _value(value: Any) -> str:
    shown = value_in_words(value)
    return shown.replace(",", "") if isinstance(value, int) else shown
