"""The smaller parsers that ship, loaded once a process."""

from functools import cache

from pipeline.parsing.parse_text import Parser

NAMES = {"dependency_parser": "dependency", "constituency_parser": "constituency-small"}


@cache
def small_parser() -> Parser:
    return Parser(**NAMES)
