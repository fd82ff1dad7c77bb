"""Takes over parsers that supar and benepar saved, without running what their files hold.

In: an original file or folder. Out: its weights and settings, which `pipeline.parsers.convert`
writes as a parser's folder.
"""
