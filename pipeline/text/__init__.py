"""Paragraphs to tokenized sentences.

In: parts of a source. Out: shards of sentences, and refusals in the place of text.
"""
