"""``diff``: in what two parses of the same sentences agree, and which sentences differ most.

In: two stages of one kind, of the same sentences. Out: agreement by tokens, relations, brackets and
labels, as lines, JSON or a page of the sentences that differ most. Neither parse is taken for the
right one.
"""
