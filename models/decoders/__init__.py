"""Invertible maps from sentence vectors to the space of word vectors, one a file."""
