"""The tables of trends: one row a bucket."""

from sqlalchemy import Column, Float, Integer, LargeBinary, MetaData, String, Table, Text

_METADATA = MetaData()

#: `step_s` and `start`: which bucket; `content`: as JSON, by series, the sum and the number of samples.
buckets = Table(
    "buckets",
    _METADATA,
    Column("step_s", Integer, primary_key=True, autoincrement=False),
    Column("start", Integer, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
)

#: Of many alike things: the place of each in the content of every bucket, and when it was there last.
keys = Table(
    "keys",
    _METADATA,
    Column("slot", Integer, primary_key=True, autoincrement=False),
    Column("name", String, nullable=False, unique=True),
    Column("seen_at", Float, nullable=False),
)

#: `content`: by slot, `keyed_buckets.VALUE` of each series.
key_buckets = Table(
    "key_buckets",
    _METADATA,
    Column("step_s", Integer, primary_key=True, autoincrement=False),
    Column("start", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
)
