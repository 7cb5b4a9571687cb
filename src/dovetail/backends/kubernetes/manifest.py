"""Turns an assignment into a pod, and refuses what this backend cannot run.

The pod has one container, which runs once (`restartPolicy: Never`): Dovetail decides about retries. Besides the
workload's own variables it has those of every backend (`DOVETAIL_WORKLOAD`, `DOVETAIL_TASK`, `DOVETAIL_REPLICA`, …).

It is a pod, not a Job: a Job would create more pods under other names, and an attempt runs once.
"""

from math import ceil
from typing import Any

from dovetail.backends.contract import Assignment, WorkloadRefusal
from dovetail.backends.host_folders import refuse_other_folders
from dovetail.backends.kubernetes.naming import (
    CONTAINER,
    END_REASON,
    FINALIZER,
    GATE,
    KEY,
    NEVER,
    OWNER,
    STATE,
    WORKLOAD,
    pod_name,
)
from dovetail.backends.kubernetes.settings import KubernetesSettings
from dovetail.backends.kubernetes.volumes import mounts, pod_volumes
from dovetail.model.device import WHOLE
from dovetail.model.resources import CPU, DISK, GPU, MEMORY, SLOTS, Limits, ResourceRequest
from dovetail.model.workloads.selection import Effect, Toleration
from dovetail.model.workloads.workload import WorkloadKind

KINDS = (WorkloadKind.JOB, WorkloadKind.CONTAINER)
MAX_LABEL_VALUE = 63


def refuse_what_cannot_run(assignment: Assignment, settings: KubernetesSettings) -> None:
    spec, label = assignment.spec, f"workload {assignment.spec.name!r}"
    if spec.kind not in KINDS:
        raise WorkloadRefusal(f"{label} is of kind {spec.kind}; the Kubernetes backend runs kinds job and container")
    if spec.run.image is None and settings.default_image is None:
        raise WorkloadRefusal(f"{label} names no image; write run: {{image: …}} or give the backend a default_image")
    refuse_other_folders(spec, settings.allow_paths)
    if spec.resources.amounts().get(GPU, 0) % WHOLE:
        raise WorkloadRefusal(f"{label} wants a share of a GPU; Kubernetes gives whole ones only")


def pod_of(assignment: Assignment, owner: str, node: str, settings: KubernetesSettings) -> dict[str, Any]:
    """`node`: its name in the cluster."""
    spec = assignment.spec
    grace_s = settings.grace_s if spec.disruption.grace is None else spec.disruption.grace
    body: dict[str, Any] = {
        "containers": [_container(assignment, settings)],
        "restartPolicy": "Never",
        # With 0, the API server would not wait until the node confirms that nothing runs any more.
        "terminationGracePeriodSeconds": max(1, ceil(grace_s)),
        "tolerations": [_toleration(toleration) for toleration in spec.tolerations],
        "automountServiceAccountToken": settings.service_account is not None,
        "enableServiceLinks": False,
    }
    if settings.scheduler is None:
        body["nodeName"] = node
    else:
        body["schedulerName"] = settings.scheduler
        only = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [only]}}
        body["affinity"] = {"nodeAffinity": required}
    if spec.deadline.run_for is not None:
        body["activeDeadlineSeconds"] = max(1, ceil(spec.deadline.run_for))
    given = {
        "serviceAccountName": settings.service_account,
        "priorityClassName": settings.priority_class,
        "runtimeClassName": settings.runtime_class,
        "imagePullSecrets": [{"name": name} for name in settings.pull_secrets],
        "volumes": pod_volumes(spec.run.volumes),
    }
    body |= {name: value for name, value in given.items() if value}
    return {"metadata": _metadata(assignment.key, spec.name, owner, settings), "spec": body}


def never_of(key: str, owner: str, reason: str, settings: KubernetesSettings) -> dict[str, Any]:
    """A pod that never runs. It takes the name of an attempt that must not run."""
    metadata = _metadata(key, "", owner, settings)
    metadata["labels"][STATE] = NEVER
    metadata["annotations"][END_REASON] = reason
    image = "never-pulled"
    container = {"name": CONTAINER, "image": image, "resources": {"requests": {"cpu": "0", "memory": "0"}}}
    return {"metadata": metadata, "spec": {"containers": [container], "schedulingGates": [{"name": GATE}]}}


def _metadata(key: str, workload: str, owner: str, settings: KubernetesSettings) -> dict[str, Any]:
    labels = {OWNER: owner, KEY: key, "app.kubernetes.io/managed-by": "dovetail"}
    if workload:
        # The container's environment has the full name; a label must be short.
        labels[WORKLOAD] = workload[:MAX_LABEL_VALUE].rstrip("._-")
    name = pod_name(settings.name_prefix, owner, key)
    return {"name": name, "labels": labels, "annotations": {}, "finalizers": [FINALIZER]}


def _container(assignment: Assignment, settings: KubernetesSettings) -> dict[str, Any]:
    spec = assignment.spec
    environment = {name: _literal(value) for name, value in spec.run.env.items()} | assignment.variables()
    made: dict[str, Any] = {
        "name": CONTAINER,
        "image": spec.run.image or settings.default_image,
        "resources": _resources(spec.resources, spec.limits, settings.gpu_resource),
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        # The last lines of output are the best reason if there is no other.
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    if spec.run.command:
        made["command"] = [_literal(word) for word in spec.run.command]
    if spec.run.workdir:
        made["workingDir"] = spec.run.workdir
    if spec.run.stdin:
        made["stdin"] = True
    if spec.run.volumes:
        made["volumeMounts"] = mounts(spec.run.volumes)
    if settings.pull:
        made["imagePullPolicy"] = settings.pull
    return made


def _literal(word: str) -> str:
    """Kubernetes replaces `$(NAME)` in commands; other backends do not."""
    return word.replace("$(", "$$(")


def _resources(request: ResourceRequest, limits: Limits, gpu_resource: str) -> dict[str, dict[str, str]]:
    requests: dict[str, str] = {}
    most: dict[str, str] = {}
    for name, amount in request.amounts().items():
        if name == CPU:
            requests["cpu"] = f"{amount}m"
        elif name == MEMORY:
            requests["memory"] = str(amount)
        elif name == DISK:
            requests["ephemeral-storage"] = str(amount)
        elif name == GPU:
            requests[gpu_resource] = most[gpu_resource] = str(amount // WHOLE)
        elif name != SLOTS:  # Kubernetes requires a limit equal to the request for extended resources
            requests[name] = most[name] = str(amount)
    if limits.cpu is not None:
        most["cpu"] = f"{round(limits.cpu * 1000)}m"
    if limits.memory is not None:
        most["memory"] = str(limits.memory)
    # With a limit and no request, Kubernetes would use the limit as the request.
    for name in most:
        requests.setdefault(name, "0")
    return {"requests": requests, "limits": most}


def _toleration(toleration: Toleration) -> dict[str, Any]:
    seconds = toleration.toleration_seconds
    effect = toleration.effect if seconds is None else Effect.NO_EXECUTE
    made = {
        "operator": str(toleration.operator),
        "key": toleration.key,
        "value": toleration.value or None,
        "effect": None if effect is None else str(effect),
        "tolerationSeconds": None if seconds is None else ceil(seconds),
    }
    return {name: value for name, value in made.items() if value is not None}
