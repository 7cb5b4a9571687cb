"""Errors of requests to the control plane, apart from invalid input (`model.complaint.Invalid`)."""

from dovetail.store.contract import StoreError

__all__ = ["Conflict", "ControlError", "NotFound", "NotSupported", "StoreError", "Unavailable"]


class ControlError(Exception):
    """The message is a sentence for the user."""


class NotFound(ControlError):
    """No such workload, node, task, log or reservation."""


class Conflict(ControlError):
    """The request contradicts the present state: a name is in use, work is already finished."""


class Unavailable(ControlError):
    """Not now: starting, stopping, or the store fails. A retry may succeed."""


class NotSupported(ControlError):
    """The backend cannot do it, now or later."""
