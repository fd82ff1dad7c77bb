"""Training of supar's biaffine dependency model, and joint trees of several of them.

In: CoNLL-U files; for joint trees, sentences and several parsers. Out: what the loop of epochs
trains (examples, network, loss), or a CoNLL-U file of trees.
"""
