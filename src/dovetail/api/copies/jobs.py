"""What a worker does with a copy of the state. These functions run in its process, never in the server's."""

from typing import Any

from dovetail.control.services.live_copy import LiveCopy
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.simulate.changes import ClusterChanges
from dovetail.simulate.preview import preview
from dovetail.simulate.replay import Unplayable
from dovetail.simulate.what_if import what_if
from dovetail.snapshots.file import written

SOURCE = "request body"


def snapshot_file(copy: LiveCopy) -> bytes:
    return written(copy.document())


def differences(copy: LiveCopy, changes: ClusterChanges, horizon_s: float, seed: int) -> dict[str, Any]:
    """Raises Invalid."""
    try:
        return what_if(copy.document(), changes, horizon_s, seed)
    except Unplayable as error:
        raise Invalid([Complaint(SOURCE, None, "", str(error))]) from None


def other_choices(copy: LiveCopy, changes: ClusterChanges, last: int) -> dict[str, Any]:
    """Raises Invalid."""
    try:
        return preview(copy.document(), changes, last)
    except Unplayable as error:
        raise Invalid([Complaint(SOURCE, None, "", str(error))]) from None
