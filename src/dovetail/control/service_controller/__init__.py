"""Keeps services up: their records, the controller that creates and stops replicas, health checks, autoscaling.

A subsystem: it runs beside the control loop, and what it decides goes through the same doors as what users do. What to
decide is `dovetail.services`; how an answer looks is `api.services`.
"""
