"""In which order a batch's words and tree nodes are computed.

In: flat arrays of tokens, heads and binary children, [N] and [N - B]. Out: index tensors, int64 and
built in numpy without Python a node, that say which distinct rows there are and level by level who
is whose child.
"""

from treeviews.models.encoders.order.binary import BinarySchedule
from treeviews.models.encoders.order.dependency import DependencySchedule
from treeviews.models.encoders.order.sequence import Reading, SequenceSchedule

__all__ = ["BinarySchedule", "DependencySchedule", "Reading", "SequenceSchedule"]
