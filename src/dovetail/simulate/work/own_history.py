"""Work that this server ran, from `dovetail history -o json`: the same requests at the same moments, for as long."""

from collections.abc import Iterable
from typing import Any

from dovetail.simulate.work.arrival import TimedWork, in_order, number, workload, wrong


def read_history(rows: Iterable[Any], source: str) -> list[TimedWork]:
    """Workloads that never ran are left out; those that still run have run until now. Raises Invalid."""
    found = []
    for place, row in enumerate(rows, 1):
        if not isinstance(row, dict) or "submitted_at" not in row or "name" not in row:
            raise wrong(source, None, f"row {place}: is no row of dovetail history -o json")
        at = number(source, None, "submitted_at", row["submitted_at"])
        run_s = _run_s(row)
        if run_s is None:
            continue
        fields = {
            "name": row["name"],
            "namespace": row.get("namespace") or "default",
            "user": row.get("user"),
            "priority": row.get("priority") or "medium",
            "replicas": row.get("replicas") or 1,
            "resources": {name: row[name] for name in ("cpu", "gpu") if row.get(name)},
            "run": {"simulate": {"run_time": max(run_s, 0.001)}},
        }
        kind = row.get("kind")
        found.append((at, workload(source, None, fields | ({"kind": kind} if kind in ("job", "container") else {}))))
    return _renamed(in_order(found))


def _run_s(row: dict[str, Any]) -> float | None:
    began, ended = row.get("started_at"), row.get("finished_at")
    if began is None:
        return None
    return float(ended) - float(began) if ended is not None else float(row.get("ran_s") or 3600.0)


def _renamed(found: list[TimedWork]) -> list[TimedWork]:
    """A name may come again and again in a history, and once among live workloads."""
    seen: dict[tuple[str, str], int] = {}
    renamed = []
    for at, spec in found:
        key = (spec.namespace, spec.name)
        seen[key] = seen.get(key, 0) + 1
        name = spec.name if seen[key] == 1 else f"{spec.name[:90]}-again-{seen[key] - 1}"
        renamed.append((at, spec.model_copy(update={"name": name})))
    return renamed
