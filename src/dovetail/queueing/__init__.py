"""Queueing: the order of pending work, queues, quotas and fair shares. Pure: time is an argument."""
