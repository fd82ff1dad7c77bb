"""Encoders and an objective put together: a model, its folder, and its views when it is finished.

In: a configuration and word vectors. Out: a `SentenceModel`, and `SentenceViews` once trained.
"""
