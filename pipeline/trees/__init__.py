"""Trees as flat arrays: validity, brackets, binarization; treebanks and the scores of trees.

In: brackets, CoNLL-U, or what a parser answers. Out: heads and relations a token, half-open spans
in preorder, the binary tree over them; LAS and bracket F1 of one set of trees against another.
"""
