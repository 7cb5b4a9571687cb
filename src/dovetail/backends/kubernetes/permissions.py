"""What the backend's account has to be allowed. `deploy/kubernetes/backend-rbac.yaml` grants it.

What else that file grants (logs, events, claims, metrics) is used if it is there: a call that lacks it says so.
"""

from dovetail.kubernetes_client.rights import AccessRight, rights

MANIFEST = "deploy/kubernetes/backend-rbac.yaml"


def needed_rights(namespace: str) -> list[AccessRight]:
    """`namespace`: where its pods are."""
    own = rights(["get", "list", "watch", "create", "patch", "delete"], ["pods"], namespace=namespace)
    return [*own, *rights(["list", "watch"], ["nodes", "pods"])]
