"""From text to a tree, and back.

Here belong the parser, literals, macros and the writer. What a tree means belongs to `programs`.
"""
