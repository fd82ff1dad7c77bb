"""Training of parsers: annotated treebanks in, parser folders out; no part of the way to a score.

One door, ``python -m treeviews.pipeline.parser_training``, for tasks, too. What a parser needs
to parse stands in ``pipeline.parsers``, which does not know this folder.

The loop and what it leaves on disk are in `train_parser`, what a step changes in `training_state`;
`dependency_training`, `transformer_training` and `constituency_training` hold what differs:
settings, network before the first step, batches, loss.
"""
