"""Tokens and parses that came with sentences, put where encoders look for what was read before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from models.encoding.parse_cache import ParseCache
from models.encoding.parse_table import TOKENS, schema_of
from models.encoding.reading_encoder import SENTENCES_AT_ONCE
from models.encoding.sentence_reader import content_of


def keep_given(
    folder: Path, sentences: Sequence[str], given: pa.Table, parsers: Mapping[str, str]
) -> None:
    """Keeps them in a folder of parses, in the pieces in which encoders read the sentences.

    An encoder with other parsers shares the tokens and parses these anew.

    Args:
        given: a row a sentence: its tokens, and the columns of each stage of ``parsers``.
        parsers: parse stage -> checksum of the parser that made its columns.
    """
    cache = ParseCache(folder)
    for start in range(0, len(sentences), SENTENCES_AT_ONCE):
        piece = sentences[start : start + SENTENCES_AT_ONCE]
        rows = given.slice(start, len(piece)).combine_chunks()
        for stage in (TOKENS, *parsers):
            content = content_of(stage, parsers.get(stage, ""))
            cache.table(stage, content, piece, partial(_stage_table, stage, rows))


def _stage_table(stage: str, given: pa.Table) -> pa.Table:
    """Returns a stage's table of sentences of which none is refused."""
    schema = schema_of(stage)
    columns = [
        given.column(field.name).cast(field.type)
        if field.name in given.column_names
        else pa.nulls(len(given), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
