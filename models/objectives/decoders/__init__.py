"""Invertible maps from sentence vectors to the space of word vectors.

In: vectors of sentences [B, D] and a configuration that says which map. Out: points [B, E] among
the word vectors, and by the inverse the way back, [B, E] to [B, D], which is one more view.
"""
