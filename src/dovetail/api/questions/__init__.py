"""Routes that answer questions and change nothing: plan, explain, why-not, capacity, fragmentation.

The sentences of these answers are written here too. The answers themselves come from `dovetail.engine.questions`.
"""
