"""What the agent was ordered to run and whose end the control plane has not taken yet: one file an attempt.

An order is durable before its command starts, so that an agent that was killed finds it again, and removed when the
report of its end was taken.
"""

import asyncio
import json
from pathlib import Path

from dovetail.access.private_file import write_private
from dovetail.backends.contract import Assignment
from dovetail.model.command import task_of_key
from dovetail.model.workloads.workload import Workload, WorkloadKind
from dovetail.responses.nodes import RunOrder


def assignment_of(order: RunOrder, node: str) -> Assignment:
    """Raises ValueError for an order that makes no sense here."""
    spec = Workload.model_validate(
        {
            "name": order["name"],
            "namespace": order["namespace"],
            "replicas": order["replicas"],
            **_what_runs(order),
            "resources": order["resources"],
            "limits": order["limits"],
            "deadline": order["deadline"],
            "disruption": {} if order["grace_s"] is None else {"grace": f"{order['grace_s']}s"},
        }
    )
    return Assignment(order["key"], task_of_key(order["key"]), node, spec, tuple(order["devices"]))


def _what_runs(order: RunOrder) -> dict[str, object]:
    run, vm = order["run"], order.get("vm")  # older servers do not say whether it is a VM
    if vm is not None:
        return {"kind": WorkloadKind.VM, "run": run, "vm": vm}
    return {"kind": WorkloadKind.JOB if run.get("image") is None else WorkloadKind.CONTAINER, "run": run}


class OrderJournal:
    def __init__(self, folder: Path, node: str) -> None:
        self._folder, self._node = folder, node
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._open = {path.stem for path in folder.glob("*.json")}
        self.emptied = asyncio.Event()
        self._note()

    def keep(self, order: RunOrder) -> None:
        key = order["key"]
        if key not in self._open:
            write_private(self._path(key), json.dumps(order))
            self._open.add(key)
            self._note()

    def drop(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)
        self._open.discard(key)
        self._note()

    def _note(self) -> None:
        self.emptied.clear() if self._open else self.emptied.set()

    def all(self) -> list[Assignment]:
        """In the order in which they came. A file that was half written when the machine stopped counts for nothing:
        its command was not started."""
        found = []
        for path in sorted(self._folder.glob("*.json"), key=lambda one: one.stat().st_mtime_ns):
            try:
                found.append(assignment_of(json.loads(path.read_bytes()), self._node))
            except (ValueError, KeyError):
                self.drop(path.stem)
        return found

    def _path(self, key: str) -> Path:
        task_of_key(key)  # only numbers and dots become a file name
        return self._folder / f"{key}.json"
