"""The command line that looks at shards: ``treeviews inspect [COMMAND] PATH``.

In: a corpus folder, a stage's folder or one shard, which `dataset` finds the stages of. Out: lines
of text, a page of drawings (`page`), files of other formats (`export`). ``query`` asks all stages
as one table by SQL, ``diff`` compares two parses, ``check`` proves files, manifests and rows right
and exits with 1 where they are not (`check`, `row_checks`). Shards are never written.
"""
