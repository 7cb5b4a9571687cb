"""From other people's descriptions of a network to a topology: one module a format, chosen in `reading`.

Guarantees: whatever the text, the outcome is a topology or `Invalid` with a line and a sentence. Nothing here opens a
file or asks a network.
"""
