"""Checks the claims that a pod is to mount. The cluster accepts any pod, and one with an unusable claim waits for
ever.

A claim must exist. A claim that is bound, or will be bound by itself, is usable. A claim whose class has
`WaitForFirstConsumer` is bound by the scheduler that chooses the pod's node: if the backend sets the node itself, it
would never be bound. Whether the volume can be attached to the node is left to the cluster.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail.backends.contract import Refusal
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import Forbidden, ObjectNotFound
from dovetail.kubernetes_client.paths import CORE, one

STORAGE = "/apis/storage.k8s.io/v1"
LATER = "WaitForFirstConsumer"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
#: Before there was a field for the class, it was an annotation, which still takes precedence.
CLASS = "volume.beta.kubernetes.io/storage-class"


async def refuse_unusable_claims(api: Api, namespace: str, claims: Sequence[str], *, scheduled: bool) -> None:
    """Raises Refusal. `scheduled`: a scheduler of the cluster binds the pod and its claims."""
    for name in claims:
        try:
            claim = await api.get(one(CORE, "persistentvolumeclaims", name, namespace))
        except ObjectNotFound:
            raise Refusal(
                f"there is no PersistentVolumeClaim {name!r} in namespace {namespace!r} for the volume of that name; "
                "make one, or correct run.volumes"
            ) from None
        except Forbidden as error:
            raise Refusal(f"whether there is a claim {name!r} cannot be seen: {error}; {_grant(namespace)}") from None
        kind = waits_for_scheduler(claim)
        if kind and not scheduled:
            await _refuse_late_binding(api, name, kind)


def waits_for_scheduler(claim: Mapping[str, Any]) -> str:
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
        raise Refusal(
            f"claim {name!r} is not bound, and whether its class {kind!r} waits for a scheduler cannot be seen: "
            f"{error}; grant the backend's account get of storageclasses, or set its scheduler"
        ) from None
    if found.get("volumeBindingMode") == LATER:
        raise Refusal(
            f"claim {name!r} is not bound, and its class {kind!r} leaves that to a scheduler ({LATER}), which this "
            "backend goes past; set the backend's scheduler, such as default-scheduler, or have the claim bound before"
        )


def _grant(namespace: str) -> str:
    return f"grant the backend's account get of persistentvolumeclaims in namespace {namespace!r}"
