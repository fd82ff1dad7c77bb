"""The command line that looks at shards: ``treeviews inspect [COMMAND] PATH``.

In: a corpus folder, a stage's folder or one shard, which `dataset` finds the stages of. Out: lines
of text. ``stats`` counts (`stats`), ``head`` and ``show`` print sentences with their parses
(`show`), ``pairs`` prints what their syntax lets one make of them (`pairs`), and ``check`` proves
files, manifests and rows right and exits with 1 where they are not (`check`, `row_checks`).
Nothing is ever written.
"""
