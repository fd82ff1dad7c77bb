"""Training of parsers: annotated treebanks in, parser folders out; no part of the way to a score.

One door, ``python -m treeviews.pipeline.parser_training``: ``dependency`` and ``constituency``
train a parser, ``joint-trees`` and ``guided-trees`` make further trees to train one on. Tasks use
the same door. What a parser needs to parse stands in ``pipeline.parsers``, which does not know this
folder.

The loop is in `training`, what it leaves on disk in `training_folder`; ``dependency/`` and
``constituency/`` hold what differs: configuration, network before the first step, batches, loss.
"""
