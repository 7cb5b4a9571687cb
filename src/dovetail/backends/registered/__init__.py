"""Nodes that register over REST and fetch their work with heartbeats.

`protocol` says what a node and the control plane tell each other, `backend` keeps what each node is to do.
"""
