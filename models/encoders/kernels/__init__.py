"""The element-wise steps of the recurrent cells, and who multiplies matrices on a CPU.

In: buffers that a level loop owns, [n, gates · H] and [n, H]. Out: the same buffers, overwritten.
`cells` says what a step does; `eager` does it in PyTorch, `fused` by Triton's kernels; `choice`
takes one of them for a tensor. `gemm` chooses the library of the matrix products.
"""
