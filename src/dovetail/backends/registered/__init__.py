"""Nodes that register over REST and fetch their work with heartbeats.

`protocol` defines the messages between a node and the control plane; `backend` keeps the orders of each node.
"""
