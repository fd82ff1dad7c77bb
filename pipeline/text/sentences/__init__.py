"""From documents to tokenized sentences.

In: a source of documents. Out: shards of sentences, and what was refused beside them.
"""
