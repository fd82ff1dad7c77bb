"""What encoders are trained to do; `generative` also has the objective of both together.

In: the views' vectors of successive sentences, [B, H_v] each, where the sentences stand in their
documents and which words follow (`base.SentenceContext`). Out: a loss to minimise, the share of
right answers beside chance, and further scalars for the log (`base.ObjectiveResult`).
"""
