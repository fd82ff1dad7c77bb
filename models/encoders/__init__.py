"""Sentence encoders, one view a file; BOW and LIN, which read no order, share one.

In: a `SentenceBatch` and the vectors of its word types, [T, E]. Out: one vector a sentence, [B, H];
for pooling in evaluation all states of the sentences (`sentence_encoder.SentenceStates`). A view's
file holds its parameters and equations, and walks over the batch with a gradient of its own.
``*_schedule`` say in what order states are computed, distinct parts once, ``cell_steps`` and
``triton_cells`` do a step of it.
"""
