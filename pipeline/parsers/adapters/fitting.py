"""Networks that a folder describes, built only once the weights beside it are known to be theirs.

A description may ask for any size. A network on torch's device ``meta`` has shapes and no memory,
so whatever is asked for is first compared with the shapes of the weights, of which there are no
more bytes than their file has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

ModuleT = TypeVar("ModuleT", bound=nn.Module)

_SHOWN = 3


def built_to_fit(
    build: Callable[[], ModuleT], tensors: Mapping[str, Tensor], *, num_layers: int = 0
) -> ModuleT:
    """Returns a network with these weights, each of them and no other.

    Leaves torch's global generator as it was.

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
                wanted = {name: tuple(t.shape) for name, t in build().state_dict().items()}
        except (
            RuntimeError,
            OverflowError,
            TypeError,
        ) as error:  # sizes beyond what torch can count
            raise ValueError(f"no network has these sizes ({_first_line(error)})") from error
        _compare(wanted, tensors)
        network = build()
    network.load_state_dict(dict(tensors))
    return network


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


def check_layers(num_layers: int, tensors: Mapping[str, Any]) -> None:
    """Refuses more layers than there are tensors.

    Raises:
        ValueError: names both numbers.
    """
    if num_layers > len(tensors):
        raise ValueError(
            f"{num_layers:,} layers are asked for, and there are {len(tensors)} weights"
        )


def check_sizes(sizes: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Refuses sizes that no weight has, of networks that cannot be built without memory.

    Raises:
        ValueError: a size is larger than the weights in all dimensions; names it.
    """
    largest = max((max(tensor.shape, default=1) for tensor in tensors.values()), default=0)
    for name, value in sizes.items():
        if isinstance(value, int) and value > largest:
            raise ValueError(f"{name} is {value:,}, and no weight is larger than {largest:,}")


def _compare(wanted: Mapping[str, tuple[int, ...]], tensors: Mapping[str, Tensor]) -> None:
    """Refuses weights that are not those wanted.

    Raises:
        ValueError: names some that are missing, too many, or of another shape.
    """
    faults = [
        (_some(name for name in wanted if name not in tensors), "missing"),
        (_some(name for name in tensors if name not in wanted), "too many"),
        (
            _some(
                f"{name} {list(tensors[name].shape)} instead of {list(shape)}"
                for name, shape in wanted.items()
                if name in tensors and tuple(tensors[name].shape) != shape
            ),
            "of another shape",
        ),
    ]
    found = [f"{names} {what}" for names, what in faults if names]
    if found:
        raise ValueError(f"the weights do not fit what is described: {'; '.join(found)}")


def _some(names: Iterable[str]) -> str:
    shown = list(islice(iter(names), _SHOWN + 1))
    return ", ".join(f"{name:.80}" for name in shown[:_SHOWN]) + ", …" * (len(shown) > _SHOWN)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
