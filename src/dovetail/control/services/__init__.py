"""Services: what the API asks of the control plane, one class a noun.

Here belong the checks of a request, the events that it leads to, and waiting until they are durable. Routes, and how an
answer looks, belong to `dovetail.api`; decisions belong to the engine.
"""
