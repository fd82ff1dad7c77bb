"""From vectors to likenesses and nearest rows: cosines, exact search, indexes that search faster.

In: arrays of vectors, of numpy or torch. Out: matrices of cosines, or the rows of a matrix that
suit each query best. Knows nothing of how the vectors were made.
"""
