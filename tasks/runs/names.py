"""Names of runs that people can say: two short words, chosen by the digest of what is made."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FIRST = (  # noqa: SIM905 - a line a word would be no list to look at
    "able amber apt blue bold brave brief bright calm clear cool crisp deep dry eager early even "
    "fair fast fine firm fond free fresh full gentle glad gold good grand green happy keen kind "
    "late light lively lucky mild neat new nice old pale plain proud quick quiet rare ready red "
    "round safe sharp shy silver slow smart soft still sunny tall warm wise young"
).split()
_SECOND = (  # noqa: SIM905
    "acorn alder apple badger bear beaver birch bird brook cedar cloud clover crane creek crow "
    "deer dove duck eagle elk fern field finch fox frog goose hare hawk hazel hedge heron hill "
    "island ivy kite lake lark leaf lily lynx maple meadow mole moon moss newt oak otter owl pine "
    "plum pond quail raven reed river robin rose seal snail swan tern trout willow wren"
).split()
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
LONGEST_NAME = 40
"""Characters."""


def names_for(digest: str) -> Iterator[str]:
    """Yields names for a run, without end; the first that is free is taken.

    Args:
        digest: of what the run makes, in hexadecimal: the same one gives the same names.
    """
    number = int(digest, 16)
    name = ""
    while number:
        number, second = divmod(number, len(_SECOND))
        number, first = divmod(number, len(_FIRST))
        name = f"{_FIRST[first]}-{_SECOND[second]}"
        yield name
    name = name or f"{_FIRST[0]}-{_SECOND[0]}"
    count = 2
    while True:
        yield f"{name}-{count}"
        count += 1


def check_name(name: str) -> None:
    """Refuses what cannot be a run's name, which is a file's name, too.

    Raises:
        ValueError: says what a name must be.
    """
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise ValueError(
            f"a run's name must be small letters, digits and single dashes between them, at most "
            f"{LONGEST_NAME} characters, not {name[: 2 * LONGEST_NAME]!r}"
        )
