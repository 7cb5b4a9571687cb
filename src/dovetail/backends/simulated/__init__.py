"""A backend that pretends: nodes, run times and failures for tests, benchmarks and the demo.

`settings` says what to pretend, `fleet` and `rehearsal` work out the nodes and the fate of each attempt, `world` plays
it on whatever clock it is given, and `backend` plays that world on the wall clock. All but `backend` are pure.
"""
