"""Compiles the Triton kernels for an H100 or H200; needs no GPU, and prints one line each."""

from __future__ import annotations

from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from treeviews.models.encoders import triton_cells as fused
from treeviews.models.encoders.triton_kernels import INDICES

HOPPER = GPUTarget("cuda", 90, 32)
CONSTANTS = {"H": 600, "BLOCK": 256}
OPTIONAL = {
    "lstm_forward_kernel": "kept",
    "forget_forward_kernel": "children",
    "forget_backward_kernel": "children",
    "add_rows_kernel": "source_rows",
}
TOTALS = {  # float32 among bfloat16
    "lstm_forward_kernel": ("kept",),
    "lstm_backward_kernel": ("grad_hidden", "grad_memory"),
    "forget_forward_kernel": ("kept",),
    "forget_backward_kernel": ("grad_kept", "grad_product", "grad_forget", "grad_memory"),
    "pair_backward_kernel": ("node_grad_hidden", "node_grad_memory", "grad_memory"),
    "add_rows_kernel": ("target",),
}


def compile_kernel(kernel: Any, dtype: str, absent: str | None) -> str:
    """Returns PTX for buffers aligned to 16 bytes; ``absent`` is an argument that is None."""
    constants: dict[str, Any] = {} if absent is None else {absent: None}
    wide = TOTALS.get(kernel.__name__, ())
    signature = {}
    for parameter in kernel.params:
        name = parameter.name
        if parameter.is_constexpr:
            constants[name] = CONSTANTS[name]
        if name in constants:
            signature[name] = "constexpr"
        elif name in INDICES:
            signature[name] = "*i64"
        else:
            signature[name] = "*fp32" if name in wide else f"*{dtype}"
    aligned = {
        (place,): [["tt.divisibility", 16]]
        for place, kind in enumerate(signature.values())
        if kind not in ("constexpr", "*i64")
    }
    source = ASTSource(kernel, signature, constants, aligned)
    options = {"num_warps": fused.NUM_WARPS}
    return str(triton.compile(source, target=HOPPER, options=options).asm["ptx"])


def main() -> None:
    for name, kernel in sorted(vars(fused).items()):
        if not name.endswith("_kernel"):
            continue
        for dtype in ("fp32", "bf16"):
            for absent in dict.fromkeys([None, OPTIONAL.get(name)]):
                size = len(compile_kernel(kernel, dtype, absent))
                print(f"{name} {dtype} without {absent}: {size} bytes of PTX")


if __name__ == "__main__":
    main()
