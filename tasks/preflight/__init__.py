"""What can be known before a run begins is said before it begins, all of it together.

A check is a function from the task that was asked for to findings. It reads parameters, names and
sizes of files, and what the machine says of itself: nothing is opened that a large text would make
slow, nothing is written, no heavy library is imported.
"""
