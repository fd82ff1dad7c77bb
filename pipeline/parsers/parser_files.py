"""What a parser's folder holds, which kinds of parser there are, checksums; known without torch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from treeviews.pipeline.base.bundled import BUNDLED_PARSERS, shipped_parsers
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.inside import inside
from treeviews.pipeline.base.json_files import check_file, read_object
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.base.settings import Settings

WEIGHTS_NAME = "weights.safetensors"
DESCRIPTION_NAME = "parser.json"
PARSER_FILES = (WEIGHTS_NAME, DESCRIPTION_NAME)
"""Tell one parser from another: the description names further files with their sha256."""
CHECKSUMS_NAME = "checksums.json"
"""The sha256 of the description, written last; it tells damage, not another parser."""
SCORES_NAME = "scores.json"
"""What was measured of a parser, beside its files; may be missing."""
FORMAT_VERSION: Literal[1] = 1
TRANSFORMER_FOLDER = "transformer"
"""Where the transformer inside a parser stands in its folder, if there is one."""

RELEASED_WEIGHTS = "benepar_model.bin"
"""The pickle in a folder that benepar released, which is no parser folder yet."""

_DAMAGED = (
    "restore the parser's files together, or train it or convert its checkpoint again; who changed "
    f"{DESCRIPTION_NAME} on purpose deletes {CHECKSUMS_NAME}"
)

ParsedStage = Literal["dependencies", "constituents"]
"""What a parser gives; a stage of a corpus."""
STAGES: tuple[ParsedStage, ...] = get_args(ParsedStage)

ADAPTERS: dict[str, tuple[ParsedStage, str]] = {
    "supar-biaffine-dependency": ("dependencies", "dependency_adapter.SuparDependencyParser"),
    "supar-biaffine-dependency-transformer": (
        "dependencies",
        "transformer_dependency.TransformerDependencyParser",
    ),
    "benepar-chart": ("constituents", "chart_adapter.BeneparConstituencyParser"),
    "benepar-chart-transformer": (
        "constituents",
        "transformer_chart.TransformerConstituencyParser",
    ),
}
"""Kind of parser -> what it gives, and its adapter, imported when one is loaded."""
STAGE_OF_KIND = {kind: stage for kind, (stage, _) in ADAPTERS.items()}


def has_transformer(kind: str) -> bool:
    """Says whether a parser of a kind has a transformer inside."""
    return kind.endswith("-transformer")


class ParserDescription(Settings):
    """What ``parser.json`` says."""

    called: ClassVar[str] = "description field"

    format_version: Literal[1]
    kind: str
    """What can read the folder, see `STAGE_OF_KIND`."""
    weights_sha256: str
    config: Mapping[str, Any]
    """Sizes and vocabularies, as the kind has them."""
    files: Mapping[str, str] = {}
    """sha256 of each further file, by its name relative to the folder."""


def parser_file_names(path: Path) -> list[str]:
    """Returns what belongs to a parser, relative to its folder; not what lies beside it.

    Raises:
        ValueError: a file is missing, stands outside the folder, or the description is malformed.
    """
    names = [*PARSER_FILES, *read_description(path).files]
    for name in names:
        check_present(inside(path, name))
    return names


def read_description(path: Path) -> ParserDescription:
    """Returns what a parser's description says.

    Raises:
        ValueError: it is missing, damaged, malformed, or of another format; names the file and the
            remedy.
    """
    check_present(file := path / DESCRIPTION_NAME)
    if (checksums := path / CHECKSUMS_NAME).is_file():
        check_file(file, read_object(checksums, (), remedy=_DAMAGED), _DAMAGED)
    return ParserDescription.read(file, remedy=_DAMAGED)


def read_scores(path: Path) -> dict[str, float]:
    """Returns what was measured of a parser; nothing where its folder does not say.

    Raises:
        ValueError: the file says it in another form; names the file and the remedy.
    """
    file = path / SCORES_NAME
    if not file.is_file():
        return {}
    remedy = 'write an object of numbers by name, such as {"LAS": 86.3}, or remove the file'
    scores = read_object(file, (), remedy=remedy)
    if not all(type(score) in (int, float) for score in scores.values()):
        raise ValueError(f"{file}: holds what is no number; {remedy}")
    return scores


def checksum_of_parser_folder(path: Path) -> str:
    """Returns the sha256 over both files' own sha256: it changes with either of them.

    Further files are named in the description with their sha256, so it changes with them, too.

    Raises:
        ValueError: a file is missing.
    """
    digest = hashlib.sha256()
    for name in PARSER_FILES:
        check_present(file := path / name)
        digest.update(sha256_of_file(file).encode())
    return digest.hexdigest()


def check_present(file: Path) -> None:
    """Refuses a parser's folder that lacks a file.

    Raises:
        ValueError: names it.
    """
    if file.is_file():
        return
    names = [name for stage in BUNDLED_PARSERS for name in shipped_parsers(stage)]
    meant = "" if file.parent.exists() else did_you_mean(file.parent.name, known=names)
    raise ValueError(
        f"{file}: no such file; a parser's folder holds {WEIGHTS_NAME} and {DESCRIPTION_NAME}, "
        f"as the training tasks write them{meant}"
    )
