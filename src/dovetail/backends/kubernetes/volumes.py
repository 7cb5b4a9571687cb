"""What a pod mounts for the volumes of its workload: folders of its node, and claims of its namespace by name.

A source that is mounted in several places is one volume of the pod: a node rejects a claim that is listed twice.
Allowed folders are checked by `backends/host_folders`.

Claims are checked here: the cluster accepts any pod, and one with an unusable claim waits for ever. A claim must exist.
A claim that is bound, or will be bound by itself, is usable. A claim whose class has `WaitForFirstConsumer` is bound by
the scheduler that chooses the pod's node: if the backend sets the node itself, it would never be bound. Whether the
volume can be attached to the node is left to the cluster.
"""

from collections.abc import Sequence
from typing import Any

from dovetail.backends.contract import WorkloadRefusal
from dovetail.backends.host_folders import is_folder
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import Forbidden, ObjectNotFound
from dovetail.kubernetes_client.objects import Json
from dovetail.kubernetes_client.paths import CORE, STORAGE, one
from dovetail.model.workloads.run import Volume

LATER = "WaitForFirstConsumer"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
#: Before there was a field for the class, it was an annotation, which still takes precedence.
CLASS = "volume.beta.kubernetes.io/storage-class"


def pod_volumes(volumes: Sequence[Volume]) -> list[dict[str, Any]]:
    return [
        {"name": name, **_source(source, [volume for volume in volumes if volume.source == source])}
        for source, name in _names(volumes).items()
    ]


def mounts(volumes: Sequence[Volume]) -> list[dict[str, Any]]:
    """The mounts of the container."""
    names = _names(volumes)
    return [
        {"name": names[volume.source], "mountPath": volume.target, "readOnly": volume.read_only} for volume in volumes
    ]


def claims_of(volumes: Sequence[Volume]) -> list[str]:
    """The names of claims, each once."""
    return list(dict.fromkeys(volume.source for volume in volumes if not is_folder(volume)))


def _names(volumes: Sequence[Volume]) -> dict[str, str]:
    """Volume names by source, in the order of first use. Sources are not valid names in the API."""
    sources = dict.fromkeys(volume.source for volume in volumes)
    return {source: f"volume-{number}" for number, source in enumerate(sources)}


def _source(source: str, uses: Sequence[Volume]) -> dict[str, Any]:
    if is_folder(uses[0]):
        # With a type, a missing folder is an error; otherwise the node would create an empty one.
        return {"hostPath": {"path": source, "type": "Directory"}}
    # Read-only if every use is: some volumes can be shared by nodes only that way.
    return {"persistentVolumeClaim": {"claimName": source, "readOnly": all(use.read_only for use in uses)}}


async def refuse_unusable_claims(api: Api, namespace: str, claims: Sequence[str], *, scheduled: bool) -> None:
    """Raises WorkloadRefusal. `scheduled`: a scheduler of the cluster binds the pod and its claims."""
    for name in claims:
        try:
            claim = await api.get(one(CORE, "persistentvolumeclaims", name, namespace))
        except ObjectNotFound:
            raise WorkloadRefusal(
                f"there is no PersistentVolumeClaim {name!r} in namespace {namespace!r} for the volume of that name; "
                "make one, or correct run.volumes"
            ) from None
        except Forbidden as error:
            grant = f"grant the backend's account get of persistentvolumeclaims in namespace {namespace!r}"
            raise WorkloadRefusal(f"whether there is a claim {name!r} cannot be seen: {error}; {grant}") from None
        kind = waits_for_scheduler(claim)
        if kind and not scheduled:
            await _refuse_late_binding(api, name, kind)


def waits_for_scheduler(claim: Json) -> str:
    """The class of a claim that may wait for a scheduler; empty if it does not."""
    annotations = claim["metadata"].get("annotations") or {}
    if claim["spec"].get("volumeName") or annotations.get(SELECTED_NODE):
        return ""
    return str(annotations.get(CLASS) or claim["spec"].get("storageClassName") or "")


async def _refuse_late_binding(api: Api, name: str, kind: str) -> None:
    try:
        found = await api.get(one(STORAGE, "storageclasses", kind))
    except ObjectNotFound:
        return  # a class without an object: such claims are bound to volumes of the same class
    except Forbidden as error:
        raise WorkloadRefusal(
            f"claim {name!r} is not bound, and whether its class {kind!r} waits for a scheduler cannot be seen: "
            f"{error}; grant the backend's account get of storageclasses, or set its scheduler"
        ) from None
    if found.get("volumeBindingMode") == LATER:
        raise WorkloadRefusal(
            f"claim {name!r} is not bound, and its class {kind!r} leaves that to a scheduler ({LATER}), which this "
            "backend bypasses; set the backend's scheduler, such as default-scheduler, or have the claim bound before"
        )
