"""The command line that looks at shards: ``treeviews inspect [COMMAND] PATH``.

In: a corpus folder, a stage's folder or one shard. Out: lines of text and a page of drawings
(`show`), files of other formats (`tree_export`), rows, and what SQL asks of all stages as one table
(`aligned_rows`), how far two parses agree (`diff`), and what is wrong with files, manifests and
rows (`check`). Shards are never written.
"""
