"""SentEval's data: where each set comes from, how its files are made, and what is there of it."""
