"""Names: of the pod of an attempt, from its key, and what we write on it.

A pod's name is a function of owner and key, for ever: the API server takes a name once, and that is what makes a second
bind harmless.
"""

from dovetail.model.command import task_of_key

DOMAIN = "dovetail.dev"
OWNER, KEY, WORKLOAD, STATE = (f"{DOMAIN}/{word}" for word in ("owner", "key", "workload", "state"))
"""Labels of our pods."""
STOP_REASON, END_REASON = f"{DOMAIN}/stop-reason", f"{DOMAIN}/end-reason"
"""Annotations: why it was told to stop; why it never ran."""
FINALIZER = f"{DOMAIN}/end-is-known"
GATE = f"{DOMAIN}/never"
NEVER = "never"
"""The state of a pod that only keeps a name from being taken."""
CONTAINER = "task"


def pod_name(prefix: str, owner: str, key: str) -> str:
    """Raises ValueError for anything that is not a key."""
    task_of_key(key)
    return f"{prefix.lower().replace('_', '-').replace('.', '-')}-{owner}-{key.replace('.', '-')}"
