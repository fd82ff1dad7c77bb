"""Which words a corpus has, and how often.

In: sentence shards. Out: a file of counts a shard, made side by side; merged, the most frequent
words with their counts, and how much of the text they cover.
"""
