"""Which benchmarks there are: one line a module, in the order they run. Importing a module registers what it measures.

A module that cannot be imported is reported by name and does not keep the others from running.
"""

import sys
import traceback
from importlib import import_module

MODULES = (
    "benchmarks.engine.throughput",
    "benchmarks.engine.latency",
    "benchmarks.engine.floor",
    "benchmarks.engine.reference",
    "benchmarks.control.http",
    "benchmarks.control.restart",
    "benchmarks.control.load",
    "benchmarks.control.heartbeats",
    "benchmarks.hostile",
    "benchmarks.chaos",
    "benchmarks.queues",
    "benchmarks.preemption",
    "benchmarks.recovery",
    "benchmarks.workload_affinity",
    "benchmarks.topology",
    "benchmarks.callgraphs",
    "benchmarks.network",
    "benchmarks.gangs",
    "benchmarks.explain",
    "benchmarks.overview",
    "benchmarks.default_profile",
    "benchmarks.batch",
    "benchmarks.batch_family",
    "benchmarks.openb",
    "benchmarks.constraints",
    "benchmarks.communication",
    "benchmarks.discovery",
    "benchmarks.cloud",
    "benchmarks.philly_lingjun",
    "benchmarks.kueue_tas",
    "benchmarks.market",
    "benchmarks.kubernetes_client",
    "benchmarks.kubernetes_selectors",
    "benchmarks.kubernetes",
    "benchmarks.kubernetes_extender",
    "benchmarks.kubernetes_takeover",
    "benchmarks.vms",
    "benchmarks.web.pages",
    "benchmarks.web.live_map",
    "benchmarks.web.many_browsers",
    "benchmarks.web.long_open",
    "benchmarks.startup",
    "benchmarks.cli",
)


def load(modules: tuple[str, ...] = MODULES) -> list[str]:
    """Import them all; returns what went wrong, one line a module."""
    failures = []
    for module in modules:
        try:
            import_module(module)
        except Exception as failure:  # a module of one subject may need what this machine lacks
            traceback.print_exc(limit=-3, file=sys.stderr)  # the importing machinery above is of no interest
            failures.append(f"{module} cannot be imported: {type(failure).__name__}: {failure}")
    return failures
