"""Traces of workloads for OpenTelemetry, from the request that submits them to the start of their tasks.

Spans are made after the fact, from the durable steps that a subsystem hears: neither the engine nor the loop knows of
them. Off unless the settings name the subsystem `tracing`; the SDK is not imported before.
"""
