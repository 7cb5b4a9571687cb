"""Running it: the loop that feeds the engine, writes what changed, carries out commands, and tells people.

The engine decides; this room only does. Everything here may be slow, fail and be retried.
"""
