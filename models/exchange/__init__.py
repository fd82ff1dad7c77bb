"""Encoders for other libraries and other people: folders that they open, and cards that say what.

In: a model. Out: a folder for sentence-transformers and model2vec, a module of
sentence-transformers, a repository of a hub, a model of MTEB.
"""
