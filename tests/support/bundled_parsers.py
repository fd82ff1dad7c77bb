"""The parsers that parse by default, loaded once a process."""

from functools import cache

from treeviews.pipeline.parsing.parse_text import Parser


@cache
def bundled_parser() -> Parser:
    return Parser()
