"""Telemetry: metrics for Prometheus and structured logs.

Here belongs how numbers and decisions are told. What the numbers are is asked of the engine (`Questions`); metrics of a
subsystem are declared by the subsystem.
"""
