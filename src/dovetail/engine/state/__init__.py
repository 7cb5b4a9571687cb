"""What the engine knows: the tables that event handlers and the scheduler read and change.

Here belong tables and their bookkeeping. Decisions do not: they live in the packages above (`scheduling`,
`preemption`, `recovery`, …), which take the `EngineState` or the part of it that they need.
"""
