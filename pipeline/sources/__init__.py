"""Sources of text: what they hold is told, cut into pieces, and read piece by piece.

In: files, or this interpreter. Out: documents of paragraphs, and refusals in the place of text.
A source is a list of `streams`, each of which can be read from several places on; `plan` puts
their pieces together to parts of like size, so that many processes read one corpus.
"""
