"""What people and controllers read of a decision: Events and conditions of pods, in the places where they look."""

from datetime import UTC, datetime

from dovetail.kubernetes.client.api import JsonObject
from dovetail.kubernetes.scheduler.known import Known

SCHEDULED, FAILED, PREEMPTED = "Scheduled", "FailedScheduling", "Preempted"


def pod_reference(known: Known) -> JsonObject:
    about = {"namespace": known.namespace, "name": known.name, "uid": known.uid}
    return {"apiVersion": "v1", "kind": "Pod", **about}


def scheduled(known: Known, node: str) -> str:
    return f"Successfully assigned {known.namespace}/{known.name} to {node}"


def incomplete(gang: str, there: int, wanted: int) -> str:
    return f"waits for its gang {gang}: {there} of the {wanted} pods that have to start together are there"


def unschedulable(message: str) -> JsonObject:
    """The condition of a pod that waits, as autoscalers and kubectl read it."""
    return _condition("PodScheduled", "False", "Unschedulable", message)


def disrupted(message: str) -> JsonObject:
    """The condition of a victim: a Job may have it count as no failure of the pod's own."""
    return _condition("DisruptionTarget", "True", "PreemptionByScheduler", message)


def _condition(kind: str, status: str, reason: str, message: str) -> JsonObject:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = {"reason": reason, "message": message[:1024], "lastTransitionTime": now}
    return {"type": kind, "status": status, **said}
