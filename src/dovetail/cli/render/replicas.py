"""Replicas of services in lists of workloads: told from other work, named as users name them, folded into one row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from dovetail.responses.workloads import WorkloadRow

_REPLICA = re.compile(r"(.+)-r\d+-(\d+)", re.ASCII)
#: The state of a service is the first of these that one of its replicas has.
_STATES = ("pending", "starting", "running", "failed", "succeeded", "cancelled")
_COUNTS = ("replicas", "pending", "active", "succeeded", "failed", "cancelled")


class _Named(Protocol):
    """A row of any answer that has a `name` and a `service`."""

    def __getitem__(self, key: str, /) -> object: ...


def replica_of(row: _Named) -> tuple[str, int] | None:
    """The service that a workload is a replica of, and which; None for other work."""
    found = _REPLICA.fullmatch(str(row["name"]))
    return None if found is None or found[1] != row["service"] else (found[1], int(found[2]))


def task_title(row: _Named, number: int, namespace: str) -> str:
    """A task as it can be typed: `train.3`, `team/train.3`; `web.0` for a replica of a service."""
    replica = replica_of(row)
    name = f"{row['name']}.{number}" if replica is None else f"{replica[0]}.{replica[1]}"
    return name if namespace == "default" else f"{namespace}/{name}"


def services_folded(rows: Sequence[WorkloadRow]) -> list[WorkloadRow]:
    """One row for each service, in the place of its newest replica; replicas that have ended count while all have."""
    found: dict[object, list[WorkloadRow]] = {}
    for row in rows:
        replica = replica_of(row)
        key = ("workload", row["id"]) if replica is None else (row["namespace"], replica[0])
        found.setdefault(key, []).append(row)
    return [some[0] if replica_of(some[0]) is None else _folded(some) for some in found.values()]


def _folded(replicas: list[WorkloadRow]) -> WorkloadRow:
    live = [row for row in replicas if row["finished_at"] is None] or replicas
    state = next((word for word in _STATES if any(row["state"] == word for row in live)), live[0]["state"])
    unwell = next((row for row in live if row["state"] == state != "running"), None)
    counts = {name: sum(cast("dict[str, int]", row)[name] for row in live) for name in _COUNTS}
    times = {
        "submitted_at": min(row["submitted_at"] for row in live),
        "running_since": min((at for row in live if (at := row["running_since"]) is not None), default=None),
        "ran_s": max(row["ran_s"] for row in live),
    }
    words = {
        "name": live[0]["service"],
        "state": state,
        "reason": "" if unwell is None else unwell["reason"],
        "message": f"service: dovetail services {live[0]['service']}" if unwell is None else unwell["message"],
    }
    return cast("WorkloadRow", {**live[0], **counts, **times, **words})
