"""What a step consists of, by PyTorch's profiler: arithmetic of matrix products, memory, time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.gemm_speed import measure_gemm
from models.encoders.kernels.gemm import MAX_ERROR

_FACTORS_AT = {
    "aten::mm": 0,
    "aten::bmm": 0,
    "aten::addmm": 1,
    "aten::addmm_": 1,
    "aten::baddbmm": 1,
    "aten::baddbmm_": 1,
}
"""Matrix products, and where among their arguments the two factors begin."""

KINDS = ("matrix products", "cell elementwise", "gather and scatter")
"""Of operations; those of no kind, as views, do hardly anything."""

_LARGEST_ERROR = {torch.float32: MAX_ERROR, torch.bfloat16: 1e-2}
"""Of a product that counts as one in this precision; bfloat16's rounding gives some 2 · 10⁻³."""

_GATHERS = ("index", "gather", "scatter", "embedding", "cat", "stack", "copy", "clone", "repeat")
_ELEMENTWISE = (
    *("sigmoid", "tanh", "mul", "add", "sub", "neg", "rsub", "lerp", "addc", "pow", "where"),
    *("sum", "div", "exp"),
)


@dataclass(frozen=True, slots=True)
class StepCost:
    """What a step costs on any machine."""

    flops: float
    """Floating-point operations of the matrix products."""
    peak_bytes: int
    """The most memory it holds at once of what it allocates itself."""


def cost_of(act: Callable[[], object]) -> StepCost:
    """Returns what one call costs."""
    found = profiled(act, memory=True)
    return StepCost(product_flops(found), peak_step_bytes(found))


def profiled(act: Callable[[], object], *, memory: bool = False) -> Any:
    """Returns PyTorch's profile of one call, with the operands' shapes."""
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=memory
    ) as found:
        act()
    return found


def product_flops(profile_: Any) -> float:
    """Returns the floating-point operations of all matrix products, 2mkn for [m, k] by [k, n].

    Differs from the profiler's own ``with_flops`` by counting in-place products as well.
    """
    total = 0.0
    for event in _raw_events(profile_):
        first = _FACTORS_AT.get(event.name())
        if first is not None:
            left, right = event.shapes()[first : first + 2]
            total += 2.0 * math.prod(left) * right[-1]
    return total


def peak_step_bytes(profile_: Any) -> int:
    """Returns the most memory that the call held at once of what it allocated itself."""
    changes = [event for event in _raw_events(profile_) if event.name() == "[memory]"]
    changes.sort(key=lambda event: event.start_ns())
    held = accumulate((int(event.nbytes()) for event in changes), initial=0)
    return max(held)


def milliseconds_by_kind(profile_: Any) -> dict[str, float]:
    """Returns the time of the operations' own code, without what they call, by `KINDS`."""
    found: Counter[str] = Counter(dict.fromkeys(KINDS, 0.0))
    for event in profile_.key_averages():
        if kind := _kind(event.key):
            found[kind] += event.self_cpu_time_total / 1e3
    return dict(found)


def best_product_rate(dtype: torch.dtype, sizes: Sequence[int], repeats: int) -> float:
    """Returns the best rate of a product of two square matrices, in operations a second.

    The best of all sizes and of all backends that are as accurate as the precision allows, so that
    it is what this machine can do at most: a backend that rounds float32 to bfloat16 is faster,
    but does something else.
    """
    found = [measure_gemm(size=size, repeats=repeats, dtype=dtype) for size in sizes]
    return 1e9 * max(
        measured.gflops
        for backends in found
        for backend, measured in backends.items()
        if backend == "default" or measured.error <= _LARGEST_ERROR[dtype]
    )


def _raw_events(profile_: Any) -> Any:
    """Returns the events as recorded; making the public ones takes seconds and loses memory's."""
    return profile_.profiler.kineto_results.events()


def _kind(operation: str) -> str | None:
    if operation in _FACTORS_AT:
        return "matrix products"
    name = operation.removeprefix("aten::").removeprefix("_")
    if name.startswith(_GATHERS):
        return "gather and scatter"
    if operation.startswith("aten::") and name.startswith(_ELEMENTWISE):
        return "cell elementwise"
    return None
