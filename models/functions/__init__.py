"""The encoders' level loops, forward and backward, as custom autograd functions."""
