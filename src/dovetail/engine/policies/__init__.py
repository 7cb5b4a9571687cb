"""Policies at work: constraints with a name, the rules that adjust them, and who violates them.

The table of policies is in `state`; the constraint language is in `dovetail.constraints`.
"""
