"""What the encoders are measured against: the same equations, computed as others do it.

Each is a module made for one batch of sentences, whose order of computation it prepares once.
"""

from benchmarks.references.base import Reference
from benchmarks.references.packed_gru import PackedGRU
from benchmarks.references.plain_child_sum import PlainChildSum
from benchmarks.references.plain_nary import PlainNary
from benchmarks.references.pytorch_tree_lstm import PyTorchTreeLSTM

__all__ = [
    "PackedGRU",
    "PlainChildSum",
    "PlainNary",
    "PyTorchTreeLSTM",
    "Reference",
]
