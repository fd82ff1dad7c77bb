"""Readers of treebanks, and the scores of parses against them."""
