"""Replaying a recorded day: first exactly as it was, then as another profile would have decided.

`day` puts segments together, `reproduction` decides again and compares, `alternative` plays the same arrivals and node
events with another profile, `differences` says what would have been otherwise. Nothing here writes anything.
"""
