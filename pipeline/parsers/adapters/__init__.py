"""What the adapters of both libraries are made of.

In: sentences of any length. Out: batches of like length that are halved when memory runs out, the
arithmetic and matrix product of the machine, folders of parsers and their checksums.
"""
