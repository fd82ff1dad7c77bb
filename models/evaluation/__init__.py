"""Scores of encoders on tasks, published or derived from a corpus, with their intervals.

In: a task's files and an encoder of strings (`models.encoding`). Out: a `TaskResult` with scores,
intervals, the chosen regulariser and the prediction of every item. One way for every task:
`task_data` reads it, `evaluate_task` embeds its sentences and makes features by its
`representation`, a protocol answers (`class_protocols`, `pair_protocols`), `scores` and
`resampling` say how well and how surely, `task_result` keeps it, and `comparison` sets two encoders
side by side on the same items. `build_probing` makes probing tasks from held-out text; they are
read and scored as the others.
"""
