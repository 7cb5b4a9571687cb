"""The engine: events in, commands out. A deterministic state machine without I/O.

`handle(event, now)` returns commands; `take_changes()` returns what must be remembered. Replaying the same events at
the same times gives the same commands, so simulation, planning and production share one implementation.
"""
