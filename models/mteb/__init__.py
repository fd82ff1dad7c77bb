"""Encoders as models of MTEB, which loads its tasks, asks for vectors and scores them.

mteb is the extra of that name.
"""
