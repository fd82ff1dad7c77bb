"""Vocabulary and word vectors."""
