"""The name of an attempt's pod, the owner id of this installation, and the labels and annotations of our pods.

Owner and key determine a pod's name for ever. The API server accepts a name once, so a second bind does no harm.
"""

import contextlib
import secrets
from pathlib import Path

from dovetail.model.command import task_of_key

OWNER_FILE = "owner"
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


def remembered_owner(folder: Path) -> str:
    """A random id that marks the pods of this installation, drawn once and kept in the backend's folder."""
    path = folder / OWNER_FILE
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = folder / f"{OWNER_FILE}.{secrets.token_hex(4)}"
        draft.write_text(secrets.token_hex(4))
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)  # complete or not at all, and only once
        draft.unlink()
    return path.read_text().strip()
