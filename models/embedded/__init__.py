"""Whole corpora as vectors: shards of embeddings beside those of sentences and trees.

In: an encoder, a corpus' shards. Out: shards of embeddings, the same rows; all of them as one
matrix that takes the memory of what is read of it.
"""
