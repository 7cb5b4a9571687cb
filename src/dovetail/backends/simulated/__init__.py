"""A simulated backend: nodes, run times and failures for tests, benchmarks and the demo.

`settings` describes what to simulate, `fleet` the nodes and `rehearsal` the fate of each attempt. `world` simulates
them on any clock, and `backend` on the wall clock. All but `backend` are pure.
"""
