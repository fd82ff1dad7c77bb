"""Evaluation tasks: what each one is, and its sentences and answers read from SentEval's files."""
