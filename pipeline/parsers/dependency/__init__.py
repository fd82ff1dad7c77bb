"""The dependency parser: supar's biaffine model on a cheap path.

In: tokens, and a parser's folder. Out: heads and labels of every sentence, or a refusal.
"""
