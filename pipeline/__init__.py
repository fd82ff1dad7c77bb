"""From raw text to parsed Parquet shards; knows neither Luigi nor the models.

Importing it settles where the floors above are found: beside it.
"""

from treeviews.pipeline.base.watched import OwnPackages

OwnPackages.come_first()
