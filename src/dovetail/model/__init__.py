"""The data model: user definitions, the engine's events and commands, and the persisted records.

Guarantees: no I/O, no clock, no randomness. Every package may import this one; it imports no other.
"""
