"""The element-wise steps of the recurrent cells, and who multiplies matrices on a CPU.

In: buffers that a level loop owns, [n, gates · H] and [n, H]. Out: the same buffers, overwritten.
`cells` does a step in PyTorch, `fused` by Triton's kernels. `gemm` chooses the library of matrix
products.
"""
