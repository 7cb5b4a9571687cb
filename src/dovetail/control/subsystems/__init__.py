"""Subsystems: what runs beside the loop, each on a thread of its own, and can fail without stopping it.

Here belong the contract, the registry, the host that starts, feeds and restarts subsystems, and the built-in ones. What
the loop needs to decide or to send a command does not belong here.
"""
