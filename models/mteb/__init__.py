"""Encoders as MTEB models, and MTEB's tasks on local data in the result files of `evaluation`.

MTEB loads, encodes and scores; what it answers item by item gives the intervals. mteb and datasets
are the extra ``mteb``; nothing here asks the network.
"""
