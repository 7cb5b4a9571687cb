"""Simulation: the production engine and its admission on a virtual clock and a simulated world.

Here belong scenario files, synthetic and recorded work, replay, and the figures of a run. `scenario` says what to
play, `stream` generates work, `replay` plays it, `ledger` records what happens, `outcome` sums it up. Nothing here
waits, does I/O or reads a clock: the same scenario and seed give the same decisions. Rules of scheduling do not
belong here.
"""
