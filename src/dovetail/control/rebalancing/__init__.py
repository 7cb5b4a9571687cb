"""Rebalancing beside the control loop: looks at loads now and then, moves services from full to empty nodes, and counts
what the seeds measure: placement success, moves, deviation of load, distance between communicating tasks."""
