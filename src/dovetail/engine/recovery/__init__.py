"""Recovery: replaces the tasks that gangs lost with failed nodes.

Here belong the cases, the moves and their limits, spare nodes, and the messages. The search for the fewest moves is
array code in `dovetail.placement.recovery`.
"""
