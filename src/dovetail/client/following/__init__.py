"""What goes on for a while: output and events as they come, waiting for the end, asking again while the server is away.

Here belongs what knows how far it came. Single questions belong to `calls`; showing what came belongs to the caller.
"""
