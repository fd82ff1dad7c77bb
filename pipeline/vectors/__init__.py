"""Word vectors: published ones taken over, new ones trained, kept as a mapped table and its words.

In: files that others wrote, or sentences. Out: a folder of vectors, their words and where they come
from. Training needs gensim, which is imported where it is used.
"""
