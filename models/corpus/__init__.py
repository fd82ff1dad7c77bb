"""A parsed corpus as flat arrays, one shard in memory.

In: the folders of its stages, zipped by row, and who is held out. Out: blocks of successive
sentences (`sentence_block.SentenceBlock`): vocabulary ids [T], offsets [N + 1], heads [T] and
binary children [T - N]; what was skipped, and how the word vectors cover the text.
"""
