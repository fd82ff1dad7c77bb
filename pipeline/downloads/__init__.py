"""What is fetched: files, resumed by range, and SentEval's data in `evaluation_data/`.

In: addresses with their sha256. Out: verified files.
"""
