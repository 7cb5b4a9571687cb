"""What can be wrong with a request to the control plane, apart from its text (`model.complaint.Invalid`)."""

from dovetail.store.contract import StoreError

__all__ = ["Conflict", "ControlError", "NotFound", "StoreError", "Unavailable"]


class ControlError(Exception):
    """The message is a sentence for the person who asked."""


class NotFound(ControlError):
    """No such workload, node, task, log or reservation."""


class Conflict(ControlError):
    """It contradicts what is already there: a name in use, work that is already finished."""


class Unavailable(ControlError):
    """Not now: starting, stopping, or the store is in trouble. Asking again later may succeed."""
