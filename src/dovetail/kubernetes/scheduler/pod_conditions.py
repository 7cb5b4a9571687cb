"""Events and conditions of pods: how people and controllers learn of a decision."""

from datetime import UTC, datetime

from dovetail.kubernetes.scheduler.tracked_pod import TrackedPod
from dovetail.kubernetes_client.api import JsonObject

SCHEDULED, FAILED, PREEMPTED = "Scheduled", "FailedScheduling", "Preempted"
DISRUPTED, PREEMPTING_SCHEDULER = "DisruptionTarget", "PreemptionByScheduler"
MAX_MESSAGE = 1024


def pod_reference(known: TrackedPod) -> JsonObject:
    about = {"namespace": known.namespace, "name": known.name, "uid": known.uid}
    return {"apiVersion": "v1", "kind": "Pod", **about}


def incomplete(gang: str, there: int, wanted: int) -> str:
    return f"waits for its gang {gang}: {there} of the {wanted} pods that have to start together are there"


def unschedulable(message: str) -> JsonObject:
    """The condition of a pending pod, as autoscalers and kubectl read it."""
    return condition("PodScheduled", "False", "Unschedulable", message)


def disrupted(message: str) -> JsonObject:
    """The condition of a victim: a Job can ignore such a failure."""
    return condition(DISRUPTED, "True", PREEMPTING_SCHEDULER, message)


def condition(kind: str, status: str, reason: str, message: str) -> JsonObject:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    words = {"reason": reason, "message": message[:MAX_MESSAGE], "lastTransitionTime": now}
    return {"type": kind, "status": status, **words}
