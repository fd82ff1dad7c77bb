"""The data format: one Arrow schema a stage, shards, their manifests.

In: rows of a stage. Out: Parquet files that exist when their manifest does, and their readers.
"""
