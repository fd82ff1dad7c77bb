"""Networks that a folder describes, built only once the weights beside it are known to be theirs.

A description may ask for any size. A network on torch's device ``meta`` has shapes and no memory,
so whatever is asked for is first compared with the shapes of the weights, of which there are no
more bytes than their file has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

ModuleT = TypeVar("ModuleT", bound=nn.Module)


def built_to_fit(build: Callable[[], ModuleT], tensors: Mapping[str, Tensor]) -> ModuleT:
    """Returns a network with these weights, each of them and no other.

    Leaves torch's global generator as it was.

    Args:
        build: makes the network with any weights, on torch's default device.

    Raises:
        ValueError: a weight is missing, too many, or of another shape; names it.
    """
    with torch.random.fork_rng(devices=[]), _NoInitialValues():
        try:
            with torch.device("meta"):
                wanted = {name: tuple(t.shape) for name, t in build().state_dict().items()}
        except (RuntimeError, OverflowError, TypeError) as error:  # more than torch can count
            raise ValueError(f"no network has these sizes ({error})") from error
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


def _compare(wanted: Mapping[str, tuple[int, ...]], tensors: Mapping[str, Tensor]) -> None:
    """Refuses weights that are not those wanted.

    Raises:
        ValueError: names the first that is missing, too many, or of another shape.
    """
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in (*wanted, *found):
        if found.get(name) != wanted.get(name):
            raise ValueError(
                f"the weights do not fit what is described: {name:.80} is "
                f"{found.get(name, 'missing')} instead of {wanted.get(name, 'missing')}"
            )
