"""Parsers: one protocol, two libraries, folders that load without running a pickle.

In: tokens and a parser's folder (`sentence_parser`), or a file that supar or benepar saved
(`convert`). Out: heads and labels (`dependency_*`), spans and tags (`chart_*`), or a refusal, one a
sentence. ``transformer_*`` are the same over a transformer.
"""
