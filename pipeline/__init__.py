"""From raw text to parsed Parquet shards; knows neither Luigi nor the models."""
