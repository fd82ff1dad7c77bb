"""The constituency parser: benepar's chart model on a cheap path.

In: tokens, and a parser's folder. Out: spans and tags of every sentence, or a refusal.
"""
