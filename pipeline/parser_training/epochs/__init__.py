"""The loop of epochs that both parsers are trained by, its optimizer and what it keeps.

In: examples, a model and its loss. Out: a parser folder; a killed training goes on at its epoch.
"""
