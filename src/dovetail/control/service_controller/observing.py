"""What one look at the cluster saw of the replicas: for the decision about the next step, and for people."""

from collections import defaultdict
from dataclasses import dataclass, field

from dovetail.control.service_controller.book import Key, ReplicaView
from dovetail.control.service_controller.health import HealthWatch
from dovetail.control.service_controller.owned import OwnedReplica
from dovetail.engine.questions.questions import Questions
from dovetail.engine.questions.workload_questions import LiveReplica
from dovetail.model.task import TaskState
from dovetail.services.records import ReplicaSeen


@dataclass(slots=True)
class ClusterLook:
    """Live replicas by service, and the addresses of their nodes."""

    now: float
    live: dict[Key, list[LiveReplica]] = field(default_factory=lambda: defaultdict(list))
    addresses: dict[str, str | None] = field(default_factory=dict)


def addresses_of(questions: Questions, nodes: set[str]) -> dict[str, str | None]:
    return {name: questions.nodes.definition(name).address for name in nodes if name in questions.nodes}


def seen_replica(one: LiveReplica, owned: OwnedReplica, health: HealthWatch) -> ReplicaSeen:
    running = one.state is TaskState.RUNNING
    return ReplicaSeen(
        index=owned.name.index,
        revision=owned.name.revision,
        workload=one.workload,
        ready_since=health.ready_since(one.key) if running else None,
        unknown=running and health.is_unknown(one.key),
        draining_since=owned.draining_since,
        stopping=owned.told or one.ending,
        crashes=one.crashes,
        trouble=health.trouble(one.key) if running else one.message,
    )


def replica_view(one: LiveReplica, owned: OwnedReplica, health: HealthWatch, look: ClusterLook) -> ReplicaView:
    running = one.state is TaskState.RUNNING
    ready = running and health.ready_since(one.key) is not None
    return ReplicaView(
        index=owned.name.index,
        revision=owned.name.revision,
        workload=one.workload,
        workload_name=one.name,
        state=_state(one, owned, ready=ready),
        ready=ready and owned.draining_since is None and not owned.told,
        message=health.trouble(one.key) if running else one.message,
        restarts=max(0, one.attempt - 1),
        node=one.node,
        address=None if one.node is None else look.addresses.get(one.node),
        ports=owned.ports,
        started_at=one.started_at,
        key=one.key,
    )


def _state(one: LiveReplica, owned: OwnedReplica, *, ready: bool) -> str:
    """As people see it."""
    if one.state is TaskState.RUNNING and owned.draining_since is not None:
        return "draining"
    if one.state is TaskState.RUNNING and not ready:
        return "unready"
    if one.state is TaskState.PENDING and one.reason == "crash_loop":
        return "crash_loop"
    return str(one.state)
