"""Suggestions: why work fits nowhere, and the smallest changes that would make it fit.

Here belong the unsatisfiable core and the candidate changes; each is tried before it is suggested.
"""
