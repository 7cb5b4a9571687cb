"""Answers as the API gives them, for the tests of rendering."""

from typing import Any

from dovetail.cli.render.parts.text import Drawing
from dovetail.responses.nodes import NodeRow
from dovetail.responses.questions import DecisionExplanation, RankedNode
from dovetail.responses.queues import QueueItem
from dovetail.responses.workloads import AttemptRow, TaskRow, WorkloadDetail

NOW = 1_700_000_000.0


def drawn(view: Drawing, width: int = 80) -> str:
    """What a terminal of this width shows, without trailing blanks."""
    return "\n".join(line.plain.rstrip() for line in view.lines(width))


def widest(text: str) -> int:
    return max(len(line) for line in text.splitlines())


def workload(name: str = "train", **fields: Any) -> WorkloadDetail:
    found: Any = {
        "id": 7,
        "namespace": "default",
        "name": name,
        "kind": "job",
        "priority": "medium",
        "user": None,
        "service": None,
        "replicas": 4,
        "submitted_at": NOW - 60,
        "state": "running",
        "reason": "",
        "message": "",
        "pending": 0,
        "active": 3,
        "succeeded": 1,
        "failed": 0,
        "cancelled": 0,
        "started_at": NOW - 50,
        "finished_at": None,
        "spec": {
            "name": name,
            "resources": {"cpu": "2", "memory": "4GiB", "gpu_model": ["A100", "H100"]},
            "run": {"command": ["echo", "two words"]},
        },
        "tasks": {"total": 4, "pending": 0, "active": 3, "succeeded": 1, "failed": 0, "cancelled": 0},
        "placed_at": NOW - 58,
        "bound_at": NOW - 57,
        "ran_s": 0.0,
        "running_since": NOW - 50,
    }
    return found | fields  # type: ignore[no-any-return]


def task(replica: int = 0, **fields: Any) -> TaskRow:
    found: Any = {
        "workload": 7,
        "replica": replica,
        "state": "running",
        "attempt": 1,
        "node": f"node-{replica}",
        "backend": "local",
        "reason": "",
        "message": "",
        "exit_code": None,
        "placed_at": NOW - 58,
        "started_at": NOW - 50,
        "finished_at": None,
    }
    return found | fields  # type: ignore[no-any-return]


def attempt(number: int = 1, **fields: Any) -> AttemptRow:
    found: Any = {
        "workload": 7,
        "replica": 3,
        "attempt": number,
        "node": f"node-{number}",
        "backend": "local",
        "placed_at": NOW - 58,
        "started_at": NOW - 50,
        "ended_at": NOW - 40,
        "state": "failed",
        "message": "exited with status 3; retry 1 of 5 in 1.0 s",
        "exit_code": 3,
    }
    return found | fields  # type: ignore[no-any-return]


def candidate(node: str, total: float, points: dict[str, float]) -> RankedNode:
    return {"node": node, "total": total, "points": points, "load": 0.25}


WEIGHTS = {"resource_utilisation": 40.0, "load_balance": 30.0, "affinity": 20.0, "network_proximity": 10.0}


def explanation(**fields: Any) -> DecisionExplanation:
    points = dict.fromkeys(WEIGHTS, 0.5)
    found: Any = {
        "outcome": "placed",
        "message": "",
        "profile": "balanced",
        "nodes": 1000,
        "funnel": [
            {"filter": "ready", "remaining": 1000, "reason": "not_ready"},
            {"filter": "node_selector", "remaining": 412, "reason": "selector_mismatch"},
            {"filter": "taints", "remaining": 412, "reason": "taint_not_tolerated"},
            {"filter": "resources", "remaining": 37, "reason": "insufficient_resources"},
        ],
        "weights": WEIGHTS,
        "best": [candidate("node-3", 71.25, points), candidate("node-9", 70.0, points)],
        "shortages": [],
        "eviction": "never",
        "notes": [],
    }
    return found | fields  # type: ignore[no-any-return]


def refused_everywhere() -> DecisionExplanation:
    return explanation(
        outcome="insufficient_resources",
        funnel=[
            {"filter": "ready", "remaining": 990, "reason": "not_ready"},
            {"filter": "resources", "remaining": 0, "reason": "insufficient_resources"},
        ],
        weights={},
        best=[],
        shortages=[
            {"resource": "memory", "needed": "64GiB", "best_free": "31.2GiB", "best_node": "n-1", "short_by": "32.8GiB"}
        ],
        eviction="helps",
    )


def node(name: str, **fields: Any) -> NodeRow:
    def use(unit: str, capacity: float, allocated: float) -> dict[str, Any]:
        share = allocated / capacity if capacity else 0.0
        whole = {"unit": unit, "capacity": capacity, "allocated": allocated, "share": share}
        return whole | {"reserved": 0.0, "observed": 0.0, "free": capacity - allocated}

    found: Any = {
        "name": name,
        "backend": "local",
        "status": "online",
        "reason": "",
        "online": True,
        "cordoned": False,
        "drained": False,
        "labels": {"zone": "a"},
        "taints": [],
        "load": 0.5,
        "tasks": 3,
        "resources": {
            "cpu": use("cores", 16, 12),
            "memory": use("bytes", 32 * 2**30, 8 * 2**30),
            "gpu": use("gpus", 0, 0),
            "disk": use("bytes", 500 * 2**30, 0),
        },
    }
    return found | fields  # type: ignore[no-any-return]


def waiting(position: int, **fields: Any) -> QueueItem:
    found: Any = {
        "position": position,
        "id": 100 + position,
        "namespace": "default",
        "name": f"job-{position}",
        "queue": "research/nlp",
        "user": "ada",
        "priority": "high",
        "promoted_from": None,
        "replicas": 4,
        "pending": 2,
        "waited_s": 75.0,
        "preempting": False,
        "starts_at": NOW + 840,
        "starts_early": NOW + 300,
        "starts_late": NOW + 2400,
        "reason": "insufficient_resources",
        "message": "none of 12 nodes has room; nearest is n-1: memory short by 32.8GiB (needs 64GiB, 31.2GiB free)",
    }
    return found | fields  # type: ignore[no-any-return]
