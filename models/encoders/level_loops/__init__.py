"""The encoders' level loops, forward and backward, as custom autograd functions.

In: what the words of a batch give, [T, gates · H], the weights of the recurrence and a schedule of
`models.encoders.order`. Out: one state a sentence, [B, H], and on the way back the gradients of
words and weights; or, without a gradient, the states of all distinct nodes, [R, H].
"""
