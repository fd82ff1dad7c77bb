"""A parser on disk: ``weights.safetensors`` beside ``parser.json``, so that loading runs no code.

Weights of our own training are stored in half precision (half the size; scores of both bundled
parsers are unchanged to the second decimal) and read back as float32; those of a converted
checkpoint keep theirs, so that its answers stay the same. A transformer inside a parser is a folder
of its own beside the two files, each of its files named in ``parser.json`` with its sha256.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from treeviews.pipeline.base.atomic_files import write_bytes_atomically, write_text_atomically
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.inside import inside
from treeviews.pipeline.base.json_files import write_sealed_json
from treeviews.pipeline.base.refusal import shortened
from treeviews.pipeline.base.settings import Range, Settings
from treeviews.pipeline.parsers.parser_files import (
    CHECKSUMS_NAME,
    DESCRIPTION_NAME,
    FORMAT_VERSION,
    WEIGHTS_NAME,
    check_present,
    checksum_of_parser_folder,
    read_description,
)

Layers = Annotated[int, Range("lie in [1, 1000]", lambda value: 1 <= value <= 1000)]
"""How many a network stacks: bounded, for a network of any size is built before it is refused."""


class NetworkDescription(Settings):
    """Everything of a parser but its weights: sizes, vocabularies, rules."""

    called: ClassVar[str] = "parser description"
    kind: ClassVar[str]
    """What can read the folder, such as ``benepar-chart``."""


ModuleT = TypeVar("ModuleT", bound=nn.Module)
DescriptionT = TypeVar("DescriptionT", bound=NetworkDescription)


@dataclass(frozen=True)
class ParserModel(Generic[DescriptionT]):
    """A network with all that is needed to use it and to build it again."""

    network: Any
    description: DescriptionT
    checksum: str = ""
    """Of its folder; empty for a model that is on no disk."""
    tokenizer: Any = None
    """Of the transformer inside, if there is one."""


class NamedParts(nn.Module):
    """Modules, parameters and plain values by name, in evaluation mode; it computes nothing."""

    def __init__(self, **parts: Any) -> None:
        """Takes the parts as its attributes."""
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)


def save_model(model: ParserModel[Any], path: Path, *, halved: bool = True) -> str:
    """Writes a parser folder and returns its checksum; see `write_parser_folder`."""
    return write_parser_folder(path, model.description, model.network.state_dict(), halved=halved)


def write_parser_folder(
    path: Path,
    description: NetworkDescription,
    tensors: Mapping[str, Tensor],
    *,
    halved: bool = True,
    subfolder: str = "",
) -> str:
    """Writes a parser's folder and returns its checksum.

    The description names the weights' sha256, so a folder that a killed writer left behind is
    refused by ``read_parser_folder``; the sha256 of both come last.

    Args:
        path: the folder, made where missing; its parser, if any, is replaced.
        description: of the parser.
        tensors: the state dictionary.
        halved: whether floating tensors are rounded to float16.
        subfolder: of ``path``, filled already; its files belong to the parser.

    Raises:
        ValueError: a weight is not finite in half precision.
    """
    weights = save({name: _stored(name, tensor, halved) for name, tensor in tensors.items()})
    content: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "kind": description.kind,
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "config": description.to_dict(),
    }
    if subfolder:
        files = sorted(file for file in (path / subfolder).rglob("*") if file.is_file())
        content["files"] = {
            file.relative_to(path).as_posix(): sha256_of_file(file) for file in files
        }
    path.mkdir(parents=True, exist_ok=True)
    (path / CHECKSUMS_NAME).unlink(missing_ok=True)
    write_bytes_atomically(path / WEIGHTS_NAME, weights)
    text = json.dumps(content, ensure_ascii=True, indent=1) + "\n"
    write_text_atomically(path / DESCRIPTION_NAME, text)
    write_sealed_json(path / CHECKSUMS_NAME, {}, [path / DESCRIPTION_NAME])
    return checksum_of_parser_folder(path)


def read_parser_folder(
    path: Path, described: type[DescriptionT]
) -> tuple[DescriptionT, dict[str, Tensor], str]:
    """Returns a parser's description, its weights as float32 and its checksum.

    Args:
        path: a folder that ``write_parser_folder`` wrote.
        described: the kind that the caller can use.

    Raises:
        ValueError: a file is missing or damaged, or holds another kind or format; the message
            names the file and the remedy.
    """
    content, description = read_description(path), read_network_description(path, described)
    _check_file(path / WEIGHTS_NAME, content.weights_sha256)
    for name, sha256 in content.files.items():
        _check_file(inside(path, name), sha256)
    try:
        stored = load_file(path / WEIGHTS_NAME)
    except SafetensorError as error:
        raise _unfit(path, error) from error
    tensors = {k: v.float() if v.is_floating_point() else v for k, v in stored.items()}
    if broken := [name for name, tensor in tensors.items() if not bool(tensor.isfinite().all())]:
        raise _unfit(path, ValueError(f"weight {shortened(broken[0])} is not finite"))
    return description, tensors, checksum_of_parser_folder(path)


def read_network_description(path: Path, described: type[DescriptionT]) -> DescriptionT:
    """Returns what a parser's folder says of its network; see `read_parser_folder`."""
    content = read_description(path)
    if content.kind != described.kind:
        raise ValueError(
            f"{path / DESCRIPTION_NAME}: a parser of kind {shortened(content.kind)}, but "
            f"{described.kind!r} is needed here; give one of that kind"
        )
    try:
        return described.from_dict(content.config)
    except ValueError as error:
        raise _unfit(path, error) from error


def read_model(
    path: Path, described: type[DescriptionT], build: Callable[[DescriptionT], nn.Module]
) -> ParserModel[DescriptionT]:
    """Returns the model of a parser folder, its network ready for prediction.

    Args:
        path: the folder.
        described: the kind that the caller can use.
        build: makes a network of a description, see `built_to_fit`.

    Raises:
        ValueError: see `read_parser_folder`, or weights and description do not fit together.
    """
    description, tensors, checksum = read_parser_folder(path, described)
    try:
        network = built_to_fit(lambda: build(description), tensors)
    except ValueError as error:
        raise _unfit(path, error) from error
    return ParserModel(network.eval(), description, checksum)


def _unfit(path: Path, error: Exception) -> ValueError:
    return ValueError(
        f"{path}: its files do not fit together ({error}); restore them together, or train the "
        f"parser or convert its checkpoint again"
    )


def _check_file(file: Path, sha256: str) -> None:
    check_present(file)
    if sha256_of_file(file) != sha256:
        raise ValueError(
            f"{file}: sha256 differs from the one in {DESCRIPTION_NAME}; the file is damaged or "
            f"from another parser: restore the parser's files together"
        )


def _stored(name: str, tensor: Tensor, halved: bool) -> Tensor:
    tensor = tensor.detach().cpu().contiguous().clone()  # not shared with another weight
    if not halved or not tensor.is_floating_point():
        return tensor
    half = tensor.half()
    if not bool(half.isfinite().all()):
        raise ValueError(f"weight {name!r} is not finite in half precision; training diverged")
    return half


def built_to_fit(build: Callable[[], ModuleT], tensors: Mapping[str, Tensor]) -> ModuleT:
    """Returns a network with these weights, each of them and no other.

    A description may ask for any size. A network on torch's device ``meta`` has shapes and no
    memory, so what is asked for is first compared with the weights, of which there are no more
    bytes than their file has. Leaves torch's global generator as it was.

    Args:
        build: makes the network with any weights, on torch's default device.

    Raises:
        ValueError: weights are missing, too many, or of other shapes; names some.
    """
    with torch.random.fork_rng(devices=[]), _NoInitialValues():
        try:
            with torch.device("meta"):
                described = _shapes(build().state_dict())
        except (RuntimeError, OverflowError, TypeError) as error:  # beyond what torch can count
            raise ValueError(f"no network has these sizes ({shortened(str(error))})") from error
        if differing := dict(described.items() ^ _shapes(tensors).items()):
            raise ValueError(
                f"the weights do not fit what is described: missing, too many or of another shape: "
                f"{shortened(sorted(differing))}"
            )
        network = build()
    network.load_state_dict(dict(tensors))
    return network


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


class _NoInitialValues(TorchFunctionMode):
    """Leaves tensors as they are where `torch.nn.init` would fill them.

    All of them are read from a file afterwards. Orthogonal matrices take a second to draw, and to
    draw nothing on the device ``meta`` torch imports its compiler, which takes three.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Returns what the function does, or its tensor."""
        named = kwargs or {}
        if getattr(func, "__module__", None) == nn.init.__name__:
            return args[0] if args else named["tensor"]
        return func(*args, **named)
