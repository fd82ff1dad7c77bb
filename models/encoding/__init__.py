"""From raw sentences, or a parsed corpus, to vectors, and from vectors to likenesses.

In: strings, and what an encoder is called (`encoder_names`: a model's folder, ``random-SEED``,
``bag_of_words``, views of folders, a function of the user's own). Out: an `encoder.Encoder`, which
gives one vector a sentence, or one array a view, [n, H]; shards of a corpus' vectors; nearest rows.
Text is cleaned, tokenized and parsed as the model's corpus was, by parsers known by checksum and
loaded when a sentence needs them; what was read is kept for the next encoder.
"""
