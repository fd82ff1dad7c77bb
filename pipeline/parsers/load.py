"""Loads the parser of a folder, whatever kind it is; the one place that knows all kinds.

Adapters are imported when they are needed: supar and benepar take seconds to import.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.parsers.base import SentenceParser
from pipeline.parsers.kinds import (
    PLAIN_CONSTITUENCY,
    PLAIN_DEPENDENCY,
    STAGE_OF_KIND,
    TRANSFORMER_DEPENDENCY,
)
from pipeline.parsers.parser_folder import DESCRIPTION_NAME, kind_of_parser_folder
from pipeline.parsing import Parse


def load_parser(
    path: Path,
    stage: str,
    *,
    device: str = "cpu",
    precision: str = "exact",
    batch_tokens: int = 0,
    expected_checksum: str | None = None,
) -> SentenceParser[Parse]:
    """Returns the parser of a folder.

    Args:
        stage: ``dependencies`` or ``constituents``, what the parser must give.
        device: torch's name of where to parse.
        precision: ``exact``, or ``fast`` for arithmetic that may change a few answers.
        batch_tokens: bound of a batch's size, of subwords where the parser reads these; 0: the
            parser's own.
        expected_checksum: where given, the folder must have exactly this checksum.

    Raises:
        ValueError: a file is missing or damaged, or the parser is of another kind; names the file
            and the remedy.
    """
    kind = kind_of_parser_folder(path)
    found = STAGE_OF_KIND.get(kind)
    if found != stage:
        gives = f"which gives {found}" if found else "which this version does not know"
        raise ValueError(
            f"{path / DESCRIPTION_NAME}: a parser of kind {kind!r}, {gives}, but one for {stage} "
            f"is needed here"
        )
    options: dict[str, Any] = {"device": device, "expected_checksum": expected_checksum}
    if precision != "exact":
        options["precision"] = precision
    if batch_tokens:
        options["batch_tokens"] = batch_tokens
    return _loader_of(kind)(path, **options)


def _loader_of(kind: str) -> Callable[..., SentenceParser[Parse]]:
    if kind == PLAIN_DEPENDENCY:
        from pipeline.parsers.dependency.supar_adapter import load_dependency_parser

        return load_dependency_parser
    if kind == TRANSFORMER_DEPENDENCY:
        from pipeline.parsers.dependency.transformer_adapter import (
            load_transformer_dependency_parser,
        )

        return load_transformer_dependency_parser
    if kind == PLAIN_CONSTITUENCY:
        from pipeline.parsers.constituency.benepar_adapter import load_constituency_parser

        return load_constituency_parser
    from pipeline.parsers.constituency.transformer_adapter import (
        load_transformer_constituency_parser,
    )

    return load_transformer_constituency_parser
