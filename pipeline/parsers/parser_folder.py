"""A parser on disk: ``weights.safetensors`` beside ``parser.json``, so that loading runs no code.

Weights are stored in half precision (half the size; scores of both bundled parsers are unchanged
to the second decimal) and read back as float32.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from pipeline.digest import sha256_of_file

FORMAT_VERSION = 1
WEIGHTS_NAME = "weights.safetensors"
DESCRIPTION_NAME = "parser.json"
CARD_NAME = "card.md"


def write_parser_folder(
    path: Path, kind: str, config: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]
) -> str:
    """Writes a parser's folder and returns its checksum.

    The description is written last and names the weights' sha256, so a folder that a killed
    writer left behind is refused by ``read_parser_folder``.

    Args:
        path: the folder, made where missing; its parser, if any, is replaced.
        kind: what can read it, such as ``benepar-chart``.
        config: JSON-serialisable; everything but the weights (sizes, vocabularies).
        tensors: the state dictionary; floating tensors are rounded to float16.

    Raises:
        ValueError: a weight is not finite in half precision.
    """
    halves = {name: _half(name, tensor) for name, tensor in tensors.items()}
    weights = save(halves)
    description = {
        "format_version": FORMAT_VERSION,
        "kind": kind,
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "config": dict(config),
    }
    path.mkdir(parents=True, exist_ok=True)
    _replace(path / WEIGHTS_NAME, weights)
    text = json.dumps(description, ensure_ascii=True, indent=1) + "\n"
    _replace(path / DESCRIPTION_NAME, text.encode())
    return checksum_of_parser_folder(path)


def read_parser_folder(
    path: Path, kind: str, *, expected_checksum: str | None = None
) -> tuple[dict[str, Any], dict[str, torch.Tensor], str]:
    """Returns a parser's config, its weights as float32 and its checksum.

    Args:
        path: a folder that ``write_parser_folder`` wrote.
        kind: the kind the caller can use.
        expected_checksum: where given, the folder must have exactly this checksum.

    Raises:
        ValueError: a file is missing or damaged, or holds another kind or format; the message
            names the file and the remedy.
    """
    description = _read_description(path, kind)
    weights_path = path / WEIGHTS_NAME
    weights = _read_bytes(weights_path)
    if hashlib.sha256(weights).hexdigest() != description["weights_sha256"]:
        raise ValueError(
            f"{weights_path}: sha256 differs from the one in {DESCRIPTION_NAME}; the file is "
            f"damaged or from another parser: restore both files together"
        )
    checksum = checksum_of_parser_folder(path)
    if expected_checksum is not None and checksum != expected_checksum:
        raise ValueError(
            f"{path}: checksum {checksum} differs from the expected {expected_checksum}; "
            f"restore the parser's files or correct the expected checksum"
        )
    try:
        stored = load(weights)
    except SafetensorError as error:
        raise ValueError(f"{weights_path}: not a safetensors file ({error})") from error
    tensors = {k: v.float() if v.is_floating_point() else v for k, v in stored.items()}
    return description["config"], tensors, checksum


def checksum_of_parser_folder(path: Path) -> str:
    """Returns the sha256 over both files' own sha256: it changes with either of them.

    Raises:
        ValueError: a file is missing.
    """
    digest = hashlib.sha256()
    for name in (WEIGHTS_NAME, DESCRIPTION_NAME):
        file = path / name
        if not file.is_file():
            raise ValueError(_missing(file))
        digest.update(sha256_of_file(file).encode())
    return digest.hexdigest()


def _read_description(path: Path, kind: str) -> dict[str, Any]:
    file = path / DESCRIPTION_NAME
    content = _read_bytes(file)
    try:
        description = json.loads(content)
    except ValueError as error:
        raise ValueError(f"{file}: not JSON ({error})") from error
    if not isinstance(description, dict) or not {"kind", "config", "weights_sha256"} <= set(
        description
    ):
        raise ValueError(f"{file}: not a parser's description; write it by training a parser")
    if description.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{file}: format version {description.get('format_version')!r}, this version reads "
            f"{FORMAT_VERSION}; train the parser again"
        )
    if description["kind"] != kind:
        raise ValueError(
            f"{file}: a parser of kind {description['kind']!r}, but {kind!r} is needed here"
        )
    return description


def _read_bytes(file: Path) -> bytes:
    if not file.is_file():
        raise ValueError(_missing(file))
    return file.read_bytes()


def _missing(file: Path) -> str:
    return (
        f"{file}: no such file; a parser's folder holds {WEIGHTS_NAME} and {DESCRIPTION_NAME}, "
        f"as the training tasks write them"
    )


def _replace(file: Path, content: bytes) -> None:
    temporary = file.with_name(file.name + ".partial")
    temporary.write_bytes(content)
    temporary.replace(file)


def _half(name: str, tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach().cpu().contiguous()
    if not tensor.is_floating_point():
        return tensor
    half = tensor.half()
    if not bool(torch.isfinite(half).all()):
        raise ValueError(f"weight {name!r} is not finite in half precision; training diverged")
    return half
