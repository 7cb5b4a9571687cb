"""Answers about traffic between workloads."""

from typing_extensions import TypedDict


class TrafficRow(TypedDict):
    """`source` has connected to `target`, each as it can be typed; a null target is the world outside. Rates in Mbps,
    both directions together; null for what was not observed or not declared. `distance`: the mean between their tasks.
    `suggestion`: what to write into the definition of the source; empty where nothing is worth it."""

    namespace: str
    source: str
    target: str | None
    observed_mbps: float | None
    declared_mbps: float | None
    distance: float | None
    suggestion: str
