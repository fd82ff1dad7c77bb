"""Loads the parser of a folder, whatever kind it is; the one place that knows all kinds.

Adapters are imported when they are needed: supar and benepar take seconds to import.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.base.refusal import shortened
from pipeline.parsers.adapters.adapter import BatchedParser
from pipeline.parsers.adapters.base import SentenceParser
from pipeline.parsers.adapters.folder_files import (
    DESCRIPTION_NAME,
    PLAIN_CONSTITUENCY,
    PLAIN_DEPENDENCY,
    STAGE_OF_KIND,
    TRANSFORMER_DEPENDENCY,
    named_kind,
)
from pipeline.trees.parses import Parse


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
    kind = named_kind(path)
    found = STAGE_OF_KIND.get(kind)
    if found != stage:
        gives = f"which gives {found}" if found else "which this version does not know"
        raise ValueError(
            f"{path / DESCRIPTION_NAME}: a parser of kind {shortened(kind)}, {gives}, but one for "
            f"{stage} is needed here; give one of {', '.join(map(repr, _kinds_of(stage)))}"
        )
    return _adapter_of(kind).load(
        path,
        device=device,
        precision=precision,
        batch_tokens=batch_tokens or None,
        expected_checksum=expected_checksum,
    )


def _kinds_of(stage: str) -> list[str]:
    return [kind for kind, gives in STAGE_OF_KIND.items() if gives == stage]


def _adapter_of(kind: str) -> type[BatchedParser[Any, Any]]:
    if kind == PLAIN_DEPENDENCY:
        from pipeline.parsers.dependency.supar_adapter import SuparDependencyParser

        return SuparDependencyParser
    if kind == TRANSFORMER_DEPENDENCY:
        from pipeline.parsers.dependency.transformer_adapter import TransformerDependencyParser

        return TransformerDependencyParser
    if kind == PLAIN_CONSTITUENCY:
        from pipeline.parsers.constituency.benepar_adapter import BeneparConstituencyParser

        return BeneparConstituencyParser
    from pipeline.parsers.constituency.transformer_adapter import TransformerConstituencyParser

    return TransformerConstituencyParser
