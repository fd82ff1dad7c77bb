"""Tang & de Sa's tables: which trainings and views stand beside which published figures.

In: the declaration in `frameworks` and results. Out: one table, ours beside the papers'.
"""
