"""From representations and answers to predictions, one protocol a file, as SentEval has them."""
