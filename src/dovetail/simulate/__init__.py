"""Simulation: the very engine that production runs, on a virtual clock and a simulated world.

`scenario` says what to play, `stream` makes up work, `replay` plays it, `ledger` keeps the books while it runs, and
`outcome` is what came of it. Nothing here waits, does I/O or reads a clock: the same scenario and seed always give the
same decisions.
"""
