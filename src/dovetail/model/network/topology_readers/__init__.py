"""Readers of topology file formats: one module for each format, chosen in `reading`.

Guarantees: any text gives a topology, or `Invalid` with line and message. No I/O.
"""
