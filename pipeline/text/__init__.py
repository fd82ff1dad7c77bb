"""Raw text to tokenized sentences: `corpora/` reads documents, `sentences/` splits them."""
