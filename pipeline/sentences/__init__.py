"""From documents to tokenized sentences in shards."""
