"""From the views of a batch of sentences to the features that a protocol sees.

In: views, and which of them, how pooled and how changed. Out: one vector a sentence.
"""
