"""`docs/reference/metrics.md`: every family of metrics of a server, from the server itself.

A server is put together and not started: its registry knows each family with its type, its help text and its labels.
"""

import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry

from dovetail.control.plane import ControlPlane
from dovetail.control.settings import Settings
from dovetail.control.subsystems.registry import BUILT_IN
from dovetail.model.plugin_loading import load_object

#: Names that came with the schedulers Dovetail took over from, and what they are here.
SEEDS = (
    ("placement success rate", "`dovetail_placement_decisions_total{placed}`"),
    ("rebalancing frequency", "`dovetail_rebalancing_moves_total`"),
    ("node load distribution", "`dovetail_node_load_deviation`"),
    ("network distance", "`dovetail_traffic_distance`"),
    ("scheduling latency", "`dovetail_scheduling_latency_seconds`"),
    ("queue wait time", "`dovetail_queue_wait_seconds{queue}`"),
    ("preemption count", "`dovetail_preemptions_total`"),
    ("scheduling failures", "`dovetail_scheduling_failures_total{reason}`"),
    ("worker utilization", "`dovetail_worker_utilization{node,zone,backend,resource}`"),
    ("topology_scheduler_latency_seconds", "the same"),
    ("topology_domain_utilization_ratio", "the same"),
    ("topology_gpu_allocation_ratio", "the same"),
    ("topology_placement_decisions_total", "the same"),
    ("topology_recovery_duration_seconds", "the same"),
)


class FamilyRow(NamedTuple):
    name: str
    kind: str
    labels: tuple[str, ...]
    words: str


def families() -> list[FamilyRow]:
    """Sorted by name, without those of the process, which every program of Prometheus' client library has."""
    with tempfile.TemporaryDirectory() as folder:
        plane = ControlPlane(Settings(data=folder))
    plane.metrics.look()
    found = list(_of(plane.metrics.registry))
    for declaration in BUILT_IN.values():
        if declaration.metrics:
            registry = CollectorRegistry()
            load_object(declaration.metrics)(registry)
            found += _of(registry)
    return sorted({one.name: one for one in found if not one.name.startswith("process_")}.values())


def _of(registry: CollectorRegistry) -> Iterator[FamilyRow]:
    collectors: list[Any] = list(registry._collector_to_names)
    for collector in collectors:
        labels = getattr(collector, "_labelnames", None)
        for metric in collector.collect():
            named = getattr(metric, "_labelnames", ()) if labels is None else labels
            suffix = "_total" if metric.type == "counter" else ""
            yield FamilyRow(f"{metric.name}{suffix}", metric.type, tuple(named), metric.documentation)


def metrics_page() -> str:
    lines = [
        "# Every metric of a server",
        "",
        "<!-- written by `make docs` from the server's registry -->",
        "",
        "`GET /metrics` answers with these families, in the text format of Prometheus. How to scrape, draw and alert:",
        "[monitoring](../monitoring.md). Families of the process itself (`process_*`) are those of every program.",
        "Amounts are in base units: seconds, bytes, cores, GPUs. A histogram has `_bucket`, `_sum` and `_count`.",
        "",
        "| family | type | labels | what it is |",
        "|---|---|---|---|",
    ]
    for one in families():
        labels = ", ".join(f"`{label}`" for label in one.labels)
        lines.append(f"| `{one.name}` | {one.kind} | {labels} | {one.words} |")
    lines += [
        "",
        "## How many series there can be",
        "",
        "No label holds the name of a workload, a task or a user. Nodes have a series each up to 2,000 of them, then",
        "zones and backends have; so have domains, level by level. Of namespaces the 100 largest have one, of policies",
        "the first 100, of kinds of resources the usual five and 16 others. Queues, backends, profiles and plugins are",
        "as many as the settings name.",
        "",
        "## Names from elsewhere",
        "",
        "| known as | here |",
        "|---|---|",
        *(f"| {known} | {here} |" for known, here in SEEDS),
    ]
    return "\n".join(lines) + "\n"
