"""Scores of encoders on tasks, published or derived from a corpus, with their intervals.

In: a task's files and an encoder of strings (`models.encoding`). Out: a `TaskResult` with scores,
intervals, the chosen regulariser and the prediction of every item. One way for every task:
``tasks/`` reads it, ``embedding_cache`` embeds its sentences, ``representations/`` make features,
``protocols/`` answer with ``classifiers/``, ``statistics/`` say how firm that is, and
``comparison`` sets two encoders side by side on the same items. ``derived/`` builds probing tasks
from held-out text; they are read and scored as the others.
"""
