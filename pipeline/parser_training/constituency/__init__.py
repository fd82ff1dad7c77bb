"""Training of benepar's chart model, and trees that dependencies guide.

In: files of bracketed trees; for guided trees, CoNLL-U files and a parser. Out: what the loop of
epochs trains (examples, network, loss), or a file of bracketed trees.
"""
