"""Names of runs: the same for the same digest, sayable, and safe as names of files."""

from __future__ import annotations

import re
from itertools import islice

import pytest

from tasks.runs.names import check_name, names_for


def test_a_digest_always_has_the_same_names() -> None:
    assert list(islice(names_for("63cdecedd654"), 9)) == list(islice(names_for("63cdecedd654"), 9))


def test_names_are_two_short_words_and_never_end() -> None:
    names = list(islice(names_for("63cdecedd654"), 50))

    assert re.fullmatch(r"[a-z]{3,7}-[a-z]{3,7}", names[0])
    assert len(set(names)) == 50
    for name in names:
        check_name(name)


def test_a_digest_of_zeros_has_names_too() -> None:
    assert next(names_for("000000000000"))


@pytest.mark.parametrize("name", ["", "Calm-Otter", "../x", "a b", "-a", "a--b", "a" * 41, "a/b"])
def test_what_could_be_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="small letters, digits and single dashes"):
        check_name(name)
