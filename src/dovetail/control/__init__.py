"""The control plane: feeds the engine, writes what changed, sends commands to backends, answers the API.

Here belongs everything that runs around the engine and may be slow, fail and be retried. Decisions belong to
`dovetail.engine`, which is reached by events, commands and `Questions` alone; routes belong to `dovetail.api`.
"""
