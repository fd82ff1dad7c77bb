"""Trees of shards, of raw text and of spaCy's docs, by the same parsers.

In: a shard of sentences and a loaded parser. Out: the parsed shard, row by row beside it, with
what was quarantined. In: raw text. Out: sentences with tokens, their places and their trees, and
what they look like in CoNLL-U, brackets, JSON and spaCy's ``Doc``.
"""
