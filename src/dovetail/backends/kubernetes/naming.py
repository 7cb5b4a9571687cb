"""Names: of the pod of an attempt, from its key and back, and of nodes, which may be called what ours may not.

A pod's name is a function of owner and key, for ever: the API server takes a name once, and that is what makes a second
bind harmless.
"""

import hashlib
import re

from dovetail.model.command import task_of_key
from dovetail.model.strict import MAX_NAME, NAME

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


def node_name(theirs: str) -> str:
    """Ours for a node of the cluster: the same where it is one we accept, else one made of it, never two alike."""
    if len(theirs) <= MAX_NAME and NAME.fullmatch(theirs):
        return theirs
    digest = hashlib.sha256(theirs.encode()).hexdigest()[:8]
    words = "-".join(word for word in re.split(r"[^A-Za-z0-9]+", theirs) if word)
    return f"node-{words[: MAX_NAME - 20].rstrip('-')}-{digest}"
