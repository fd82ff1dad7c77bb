"""What a parser's folder holds, which kinds of parser there are, checksums; known without torch."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal, get_args

from pipeline.base.digest import sha256_of_file
from pipeline.base.sealed import check_file, read_sealed_json

WEIGHTS_NAME = "weights.safetensors"
DESCRIPTION_NAME = "parser.json"
PARSER_FILES = (WEIGHTS_NAME, DESCRIPTION_NAME)
"""Tell one parser from another: the description names further files with their sha256."""
CHECKSUMS_NAME = "checksums.json"
"""The sha256 of the two, written last. Not one of them: it tells damage, not another parser."""
TRANSFORMER_FOLDER = "transformer"
"""Where the transformer inside a parser stands in its folder, if there is one."""

RELEASED_WEIGHTS = "benepar_model.bin"
"""The pickle in a folder that benepar released, which is no parser folder yet."""

_REMEDY = (
    "restore the parser's files together, or train it or convert its checkpoint again; who changed "
    f"{DESCRIPTION_NAME} on purpose deletes {CHECKSUMS_NAME}"
)

ParsedStage = Literal["dependencies", "constituents"]
"""What a parser gives; a stage of a corpus."""
STAGES: tuple[ParsedStage, ...] = get_args(ParsedStage)

PLAIN_DEPENDENCY = "supar-biaffine-dependency"
TRANSFORMER_DEPENDENCY = "supar-biaffine-dependency-transformer"
PLAIN_CONSTITUENCY = "benepar-chart"
TRANSFORMER_CONSTITUENCY = "benepar-chart-transformer"

TRANSFORMER_KINDS = frozenset({TRANSFORMER_DEPENDENCY, TRANSFORMER_CONSTITUENCY})
"""Those with a transformer inside."""

STAGE_OF_KIND: dict[str, ParsedStage] = {
    PLAIN_DEPENDENCY: "dependencies",
    TRANSFORMER_DEPENDENCY: "dependencies",
    PLAIN_CONSTITUENCY: "constituents",
    TRANSFORMER_CONSTITUENCY: "constituents",
}


def parser_file_names(path: Path) -> list[str]:
    """Returns what belongs to a parser, relative to its folder; not what lies beside it.

    Raises:
        ValueError: a file is missing, or the description is not JSON.
    """
    names = [*PARSER_FILES, *read_description(path).get("files", {})]
    for name in names:
        if not (path / name).is_file():
            raise ValueError(missing_parser_file(path / name))
    return names


def named_kind(path: Path) -> str:
    """Returns the kind that a parser's description names, empty where it names none.

    Raises:
        ValueError: the description is missing or not JSON.
    """
    return str(read_description(path).get("kind", ""))


def read_description(path: Path) -> dict[str, Any]:
    """Returns what a parser's description says, unchecked.

    Raises:
        ValueError: it is missing, damaged or not JSON.
    """
    file = path / DESCRIPTION_NAME
    if not file.is_file():
        raise ValueError(missing_parser_file(file))
    if (checksums := path / CHECKSUMS_NAME).is_file():
        check_file(file, read_sealed_json(checksums, _REMEDY), _REMEDY)
    try:
        description: dict[str, Any] = json.loads(file.read_bytes())
    except ValueError as error:
        raise ValueError(f"{file}: not JSON ({error})") from error
    return description


def checksum_of_parser_folder(path: Path) -> str:
    """Returns the sha256 over both files' own sha256: it changes with either of them.

    Further files are named in the description with their sha256, so it changes with them, too.

    Raises:
        ValueError: a file is missing.
    """
    digest = hashlib.sha256()
    for name in PARSER_FILES:
        file = path / name
        if not file.is_file():
            raise ValueError(missing_parser_file(file))
        digest.update(sha256_of_file(file).encode())
    return digest.hexdigest()


def missing_parser_file(file: Path) -> str:
    """Returns the words for a file that a parser's folder lacks."""
    return (
        f"{file}: no such file; a parser's folder holds {WEIGHTS_NAME} and {DESCRIPTION_NAME}, "
        f"as the training tasks write them"
    )
