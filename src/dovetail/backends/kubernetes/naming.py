"""The name of an attempt's pod, and the labels and annotations of our pods.

Owner and key determine a pod's name for ever. The API server accepts a name once, so a second bind does no harm.
"""

from dovetail.model.command import task_of_key

DOMAIN = "dovetail.dev"
OWNER, KEY, WORKLOAD, STATE = (f"{DOMAIN}/{word}" for word in ("owner", "key", "workload", "state"))
"""Labels of our pods."""
STOP_REASON, END_REASON = f"{DOMAIN}/stop-reason", f"{DOMAIN}/end-reason"
"""Annotations: why it was stopped; why it never ran."""
FINALIZER = f"{DOMAIN}/end-is-known"
GATE = f"{DOMAIN}/never"
NEVER = "never"
"""The state of a pod that only reserves its name."""
CONTAINER = "task"


def pod_name(prefix: str, owner: str, key: str) -> str:
    """Raises ValueError for an invalid key."""
    task_of_key(key)
    return f"{prefix.lower().replace('_', '-').replace('.', '-')}-{owner}-{key.replace('.', '-')}"
