"""Backfill: what the head of a queue is promised while it waits, and who may run ahead of it.

Here belong the head of each queue, its promised start, and capacity that victims still have to leave. The tables
behind promises are in `promises`.
"""
