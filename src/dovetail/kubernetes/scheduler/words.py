"""What people and controllers read of a decision: Events and conditions of pods, in the places where they look."""

from datetime import UTC, datetime

from dovetail.kubernetes.client.api import JsonObject
from dovetail.kubernetes.scheduler.ledger import Known

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
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message[:1024],
        "lastTransitionTime": now,
    }
