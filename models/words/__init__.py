"""Words and their vectors.

In: a file or folder of word vectors. Out: a vocabulary [V] with a matrix [V, E], the id of each
token of a column, and the lookup that the views of a model share.
"""
