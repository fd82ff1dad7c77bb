"""What is fetched: files, resumed by range, SentEval's data, word vectors, data sets of a hub."""
