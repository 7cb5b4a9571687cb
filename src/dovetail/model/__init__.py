"""The nouns: what users write, what the engine hears and says, and what is remembered about it.

Guarantees: no I/O, no clock, no randomness. Everything else imports this room; it imports no other.
"""
