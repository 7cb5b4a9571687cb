"""The table of trends: one row a bucket, with what it has of every series as JSON."""

from sqlalchemy import Column, Integer, MetaData, Table, Text

_METADATA = MetaData()

#: `step_s` and `start`: which bucket; `content`: by series, the sum and the number of samples.
buckets = Table(
    "buckets",
    _METADATA,
    Column("step_s", Integer, primary_key=True, autoincrement=False),
    Column("start", Integer, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
)
