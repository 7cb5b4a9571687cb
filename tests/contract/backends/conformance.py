"""The conformance suite under the name that tests here know it by; it ships with the product (`dovetail.testing`)."""

from dovetail.testing.conformance import (
    LONG_S,
    PATIENCE_S,
    BackendConformance,
    CollectedReports,
    Rig,
    Subject,
    run_async,
    started,
)

__all__ = ["LONG_S", "PATIENCE_S", "BackendConformance", "CollectedReports", "Rig", "Subject", "run_async", "started"]
