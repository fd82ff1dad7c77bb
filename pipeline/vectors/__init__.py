"""Word vectors and vocabularies.

In: files that others wrote, or sentence shards. Out: folders of vectors, their words and where they
come from; words with their counts.
"""
