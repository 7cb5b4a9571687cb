"""Event handlers: one function for each event, `handler(state, event, now) -> commands`.

The table of handlers is in `dovetail.engine.engine`. Steps that several handlers share belong to `lifecycle`.
"""
