"""Parsers: one protocol, two libraries, folders that load without running a pickle.

In: tokens and a parser's folder (`load`), or a file that supar or benepar saved (`convert`). Out:
heads and labels (`dependency/`), spans (`constituency/`), or a refusal, one a sentence.
"""
