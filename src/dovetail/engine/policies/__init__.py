"""Policies: named constraints, the rules that adjust them, and their violations.

The table of policies is in `state`; the constraint language is in `dovetail.constraints`.
"""
