"""A parser on disk: ``weights.safetensors`` beside ``parser.json``, so that loading runs no code.

Weights of our own training are stored in half precision (half the size; scores of both bundled
parsers are unchanged to the second decimal) and read back as float32; those of a converted
checkpoint keep theirs, so that its answers stay the same. A transformer inside a parser is a folder
of its own beside the two files, each of its files named in ``parser.json`` with its sha256.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

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
from treeviews.pipeline.base.settings import Settings
from treeviews.pipeline.parsers.parser_files import (
    CHECKSUMS_NAME,
    DESCRIPTION_NAME,
    FORMAT_VERSION,
    WEIGHTS_NAME,
    checksum_of_parser_folder,
    missing_parser_file,
    read_description,
)

ModuleT = TypeVar("ModuleT", bound=nn.Module)
DescriptionT = TypeVar("DescriptionT", bound=Settings)


def write_parser_folder(
    path: Path,
    kind: str,
    config: Mapping[str, Any],
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
        kind: what can read it, such as ``benepar-chart``.
        config: JSON-serialisable; everything but the weights (sizes, vocabularies).
        tensors: the state dictionary.
        halved: whether floating tensors are rounded to float16.
        subfolder: of ``path``, filled already; its files belong to the parser.

    Raises:
        ValueError: a weight is not finite in half precision.
    """
    weights = save({name: _stored(name, tensor, halved) for name, tensor in tensors.items()})
    description: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "kind": kind,
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "config": dict(config),
    }
    if subfolder:
        files = sorted(file for file in (path / subfolder).rglob("*") if file.is_file())
        description["files"] = {
            file.relative_to(path).as_posix(): sha256_of_file(file) for file in files
        }
    path.mkdir(parents=True, exist_ok=True)
    (path / CHECKSUMS_NAME).unlink(missing_ok=True)
    write_bytes_atomically(path / WEIGHTS_NAME, weights)
    text = json.dumps(description, ensure_ascii=True, indent=1) + "\n"
    write_text_atomically(path / DESCRIPTION_NAME, text)
    write_sealed_json(path / CHECKSUMS_NAME, {}, [path / DESCRIPTION_NAME])
    return checksum_of_parser_folder(path)


def read_parser_folder(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, Tensor], str]:
    """Returns a parser's config, its weights as float32 and its checksum.

    Args:
        path: a folder that ``write_parser_folder`` wrote.
        kind: the kind the caller can use.

    Raises:
        ValueError: a file is missing or damaged, or holds another kind or format; the message
            names the file and the remedy.
    """
    description = read_description(path)
    if description.kind != kind:
        raise ValueError(
            f"{path / DESCRIPTION_NAME}: a parser of kind {shortened(description.kind)}, but "
            f"{kind!r} is needed here; give one of that kind"
        )
    weights_path = path / WEIGHTS_NAME
    if not weights_path.is_file():
        raise ValueError(missing_parser_file(weights_path))
    _check_file(weights_path, description.weights_sha256)
    for name, sha256 in description.files.items():
        _check_file(inside(path, name), sha256)
    checksum = checksum_of_parser_folder(path)
    try:
        stored = load_file(weights_path)
    except SafetensorError as error:
        raise ValueError(
            f"{weights_path}: not a safetensors file ({error}); restore the parser's files together"
        ) from error
    tensors = {k: v.float() if v.is_floating_point() else v for k, v in stored.items()}
    if broken := [name for name, tensor in tensors.items() if not bool(tensor.isfinite().all())]:
        raise ValueError(
            f"{weights_path}: weight {shortened(broken[0])} is not finite; restore the parser's "
            f"files together or train the parser again"
        )
    return dict(description.config), tensors, checksum


def read_network(
    path: Path,
    kind: str,
    described: type[DescriptionT],
    build: Callable[[DescriptionT], ModuleT],
    num_layers: Callable[[DescriptionT], int],
) -> tuple[DescriptionT, ModuleT, str]:
    """Returns a parser's description, its network ready for prediction, and its checksum.

    Args:
        path: the folder.
        kind: the kind the caller can use.
        described: what the description is.
        build: makes a network of it, see `built_to_fit`.
        num_layers: how many it stacks.

    Raises:
        ValueError: see `read_parser_folder`, or weights and description do not fit together.
    """
    config, tensors, checksum = read_parser_folder(path, kind)
    try:
        description = described.from_dict(config)
        layers = num_layers(description)
        network = built_to_fit(lambda: build(description), tensors, num_layers=layers)
    except ValueError as error:
        raise ValueError(
            f"{path / DESCRIPTION_NAME}: does not describe the weights beside it ({error}); "
            f"restore both files together or train the parser again"
        ) from error
    return description, network.eval(), checksum


def _check_file(file: Path, sha256: str) -> None:
    if not file.is_file():
        raise ValueError(
            f"{file}: no such file, but {DESCRIPTION_NAME} names it; restore the parser's files "
            f"together or convert its checkpoint again"
        )
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


def built_to_fit(
    build: Callable[[], ModuleT], tensors: Mapping[str, Tensor], *, num_layers: int = 0
) -> ModuleT:
    """Returns a network with these weights, each of them and no other.

    A description may ask for any size. A network on torch's device ``meta`` has shapes and no
    memory, so what is asked for is first compared with the weights, of which there are no more
    bytes than their file has. Leaves torch's global generator as it was.

    Args:
        build: makes the network with any weights, on torch's default device.
        num_layers: as many as it is asked to stack; each has a tensor of its own at least.

    Raises:
        ValueError: weights are missing, too many, or of other shapes; names some.
    """
    check_layers(num_layers, tensors)
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


def check_layers(num_layers: int, tensors: Collection[str]) -> None:
    """Refuses more layers than there are tensors.

    Raises:
        ValueError: names both numbers.
    """
    if num_layers > len(tensors):
        raise ValueError(f"{num_layers:,} layers, and there are {len(tensors)} weights")


def check_sizes(sizes: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Refuses sizes that no weight has, of networks that cannot be built without memory.

    Raises:
        ValueError: a size is larger than the weights in all dimensions; names it.
    """
    largest = max((size for tensor in tensors.values() for size in tensor.shape), default=0)
    for name, value in sizes.items():
        if isinstance(value, int) and value > largest:
            raise ValueError(f"{name} is {value:,}, and no weight is larger than {largest:,}")


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
