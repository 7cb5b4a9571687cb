"""Routes of nodes: register and change them, heartbeats of their agents, reports of failures.

Where nodes are in the network is in `network`; the systems that own nodes are in `backends`.
"""
