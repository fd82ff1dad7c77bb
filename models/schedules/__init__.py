"""In which order a batch's words and tree nodes are computed: index tensors, built in numpy."""

from models.schedules.binary import BinarySchedule
from models.schedules.dependency import DependencySchedule
from models.schedules.sequence import Reading, SequenceSchedule

__all__ = ["BinarySchedule", "DependencySchedule", "Reading", "SequenceSchedule"]
