"""The shard job: rows of sentences to rows of trees.

In: a shard of sentences and a loaded parser. Out: the parsed shard, row by row beside it, with
what was quarantined.
"""
