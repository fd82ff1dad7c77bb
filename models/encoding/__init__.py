"""From raw sentences to what encoders take: tokens, parses, vocabulary, batches."""
