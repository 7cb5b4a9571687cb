"""Records to write in tests: whole ones, so that a round trip shows every field."""

from typing import Any

from dovetail.model.batch import Batch, Changes
from dovetail.model.command import Bind, attempt_key
from dovetail.model.node import Node
from dovetail.model.reason import Eviction, Explanation, FunnelStep, NodePoints, Shortage
from dovetail.model.record import (
    Decision,
    HistoryLine,
    NewWorkload,
    NodeRecord,
    PolicyRecord,
    ReservationRecord,
    TaskRecord,
    WorkloadRecord,
)
from dovetail.model.reservation import Target
from dovetail.model.resources import Capacity
from dovetail.model.task import TaskId, TaskState, WorkloadState
from dovetail.model.workloads.selection import Effect, Taint

NOW = 1_700_000_000.25


def new_workload(id_: int, **changed: Any) -> NewWorkload:
    fields: dict[str, Any] = {
        "id": id_,
        "namespace": "research",
        "name": f"train-{id_}",
        "kind": "job",
        "priority": "high",
        "user": "ann",
        "service": "models",
        "replicas": 1,
        "spec_json": f'{{"name":"train-{id_}","run":{{"env":{{"TOKEN":"s3cret"}}}}}}',
        "shape_json": '{"cpu":500}',
        "submitted_at": NOW + id_,
        "queue": "research/nlp",
    }
    return NewWorkload(**fields | changed)


def workload_record(id_: int, state: WorkloadState = WorkloadState.PENDING, **changed: Any) -> WorkloadRecord:
    fields: dict[str, Any] = {
        "id": id_,
        "state": state,
        "reason": "",
        "message": "",
        "pending": 1,
        "active": 0,
        "succeeded": 0,
        "failed": 0,
        "cancelled": 0,
        "started_at": None,
        "finished_at": NOW if state.finished else None,
    }
    return WorkloadRecord(**fields | changed)


def task_record(workload: int, replica: int, state: TaskState = TaskState.PLACED, **changed: Any) -> TaskRecord:
    fields: dict[str, Any] = {
        "task": TaskId(workload, replica),
        "state": state,
        "attempt": 1,
        "node": "node-a",
        "backend": "simulated",
        "reason": "",
        "message": "",
        "exit_code": None,
        "placed_at": NOW,
        "started_at": None,
        "finished_at": None,
        "failures": 0,
        "bind_failures": 0,
    }
    return TaskRecord(**fields | changed)


def node_record(name: str, **changed: Any) -> NodeRecord:
    node = Node(
        name=name,
        backend="simulated",
        capacity=Capacity.model_validate({"cpu": "63500m", "memory": "256GiB", "gpu": 8, "vendor.com/fpga": 2}),
        labels={"rack": "r1"},
        taints=[Taint(key="dedicated", value="gpu", effect=Effect.NO_EXECUTE)],
    )
    fields: dict[str, Any] = {"node": node, "row": 0, "online": True, "cordoned": False, "reason": ""}
    return NodeRecord(**fields | changed)


def reservation_record(id_: int, **changed: Any) -> ReservationRecord:
    fields: dict[str, Any] = {
        "id": id_,
        "target": Target(count=3, amounts={"cpu": 500, "slots": 1}, domain=("rack", "r1"), selector=(("gpu", "a100"),)),
        "holds": {"node-a": {"cpu": 1000, "slots": 2}, "node-b": {"cpu": 500, "slots": 1}},
        "start": NOW + 60,
        "end": NOW + 120,
        "begun": True,
        "every_s": 86400.0,
        "last": NOW + 10 * 86400,
        "tenant": "research",
        "holder": "ann",
        "trouble": "node-c left",
    }
    return ReservationRecord(**fields | changed)


def policy_record(name: str, version: int, **changed: Any) -> PolicyRecord:
    fields: dict[str, Any] = {
        "name": name,
        "version": version,
        "at": NOW + version,
        "author": "ann",
        "note": "disks are slow",
        "definition": f'{{"name":"{name}","require":"node.labels.disk == \\"nvme\\""}}',
    }
    return PolicyRecord(**fields | changed)


def explanation(message: str = "placed") -> Explanation:
    return Explanation(
        outcome="placed",
        message=message,
        profile="balanced",
        nodes=1000,
        funnel=(FunnelStep("resources", 37, "insufficient_resources"),),
        weights=(("load_balance", 30.0),),
        best=(NodePoints("node-a", 87.5, (0.75,), 0.25),),
        shortages=(Shortage("cpu", 2000, 500, "node-b"),),
        eviction=Eviction.HELPS,
        notes=("a note",),
    )


def decision(workload: int, replica: int = 0, attempt: int = 1, at: float = NOW, message: str = "placed") -> Decision:
    return Decision(TaskId(workload, replica), attempt, at, "node-a", explanation(message))


def bind(workload: int, replica: int = 0, attempt: int = 1) -> Bind:
    task = TaskId(workload, replica)
    return Bind(task, "node-a", "simulated", attempt_key(task, attempt))


def submitted(*ids: int, **changed: Any) -> Batch:
    return Batch(submitted=[new_workload(id_, **changed) for id_ in ids])


def finished(*ids: int, at: float = NOW) -> Batch:
    records = [workload_record(id_, WorkloadState.SUCCEEDED, finished_at=at) for id_ in ids]
    return Batch(changes=Changes(workloads=records))


def line(message: str, at: float = NOW, **about: Any) -> HistoryLine:
    return HistoryLine(at, "task.placed", message, **about)
