"""From the views of a batch of sentences to the features that a protocol sees."""
