"""The backends of a control plane: built, adopted, sent commands, watched by a circuit breaker, closed.

Here belongs what happens between a durable command and a backend's answer, and what a backend may say of nodes. Adding
and removing backends for a user belongs to `services`, the systems behind them to `dovetail.backends`.
"""
