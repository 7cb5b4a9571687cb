"""What an account needs to place pods, as a scheduler or as an extender.

`deploy/kubernetes/scheduler.yaml` and `extender.yaml` grant it. What else they grant (Events, claims, devices,
PodGroups) is for pods that need it.
"""

from dovetail.kubernetes_client.rights import AccessRight, rights

FOLLOWED = ("list", "watch")


def needed_rights() -> list[AccessRight]:
    """Without one of these no pod can be placed."""
    return [
        *rights(FOLLOWED, ["nodes", "namespaces", "pods", "persistentvolumes", "persistentvolumeclaims"]),
        *rights(FOLLOWED, ["storageclasses", "csinodes", "csidrivers", "csistoragecapacities"], "storage.k8s.io"),
        *rights(FOLLOWED, ["poddisruptionbudgets"], "policy"),
        AccessRight("create", "pods/binding"),
    ]


def useful_rights() -> list[AccessRight]:
    """Without these pods do not say why they wait, and none is preempted."""
    return [AccessRight("patch", "pods/status"), AccessRight("delete", "pods")]


def lease_rights(namespace: str, name: str) -> list[AccessRight]:
    """For one of several instances to be elected."""
    group = "coordination.k8s.io"
    one = [AccessRight(verb, "leases", group, namespace, name) for verb in ("get", "update")]
    return [AccessRight("create", "leases", group, namespace), *one]
