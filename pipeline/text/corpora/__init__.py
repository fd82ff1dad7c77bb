"""Where text comes from.

In: files, or this interpreter. Out: documents of paragraphs, and refusals in the place of text.
"""
