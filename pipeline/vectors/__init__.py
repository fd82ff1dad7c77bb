"""Word vectors of plain text, for a machine that has none and for the vectors that ship.

In: sentences of files or of a corpus. Out: a folder of vectors, their words and how they were
trained. Needs gensim, which is imported where it is used.
"""
