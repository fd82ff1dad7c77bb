"""Raw text to tokenized sentences.

In: files, or this interpreter. Out: shards of sentences, and refusals in the place of text.
`files` and `python_docs` read documents of `paragraphs`; `split` cuts these into sentences.
"""
