"""From parsed shards to sentence encoders and their scores; runs on torch, numpy and pyarrow."""
