"""Errors of the Kubernetes API, one class for each case that callers tell apart.

After `ApiUnreachable` it is unknown whether the request was carried out; every other error is the server's own answer
that it was not. `error_of` reads a `Status` object as the server writes it, in answers and in watches.
"""

from typing import Any

MAX_WORDS = 1000


class KubernetesApiError(Exception):
    """`status` is that of HTTP, `reason` the word of the API for it (`NotFound`, `AlreadyExists`, …)."""

    def __init__(self, status: int, reason: str, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message or reason or f"HTTP status {status}")
        self.status = status
        self.reason = reason
        self.retry_after_s = retry_after_s


class ApiUnreachable(KubernetesApiError):
    """No answer came: the server may have carried the request out, or never have seen it."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "ApiUnreachable", message)


class BadRequest(KubernetesApiError):
    pass


class Unauthorized(KubernetesApiError):
    pass


class Forbidden(KubernetesApiError):
    pass


class ObjectNotFound(KubernetesApiError):
    pass


class ObjectConflict(KubernetesApiError):
    """The object has changed meanwhile, or is in a state that excludes this."""


class AlreadyExists(ObjectConflict):
    pass


class Gone(KubernetesApiError):
    """The version asked for is too old to go on from: list again."""


class ObjectInvalid(KubernetesApiError):
    pass


class Throttled(KubernetesApiError):
    """Ask again later; `retry_after_s` says when, if the server did."""


class ServerTrouble(KubernetesApiError):
    pass


#: Errors that may pass: the same request may succeed later.
RETRIABLE = (ApiUnreachable, ServerTrouble, Throttled)
_BY_STATUS: dict[int, type[KubernetesApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: ObjectNotFound,
    409: ObjectConflict,
    410: Gone,
    422: ObjectInvalid,
    429: Throttled,
}


def error_of(status: int, answer: Any, retry_after_s: float | None = None) -> KubernetesApiError:
    """From a `Status` object, or from whatever else came with that HTTP status (a proxy may speak HTML)."""
    if not isinstance(answer, dict):
        return _class_of(status, "")(status, "", str(answer)[:MAX_WORDS].strip(), retry_after_s)
    details = answer.get("details") or {}
    reason = str(answer.get("reason") or "")
    code = int(answer.get("code") or status)
    message = str(answer.get("message") or "")
    if retry_after_s is None and details.get("retryAfterSeconds"):
        retry_after_s = float(details["retryAfterSeconds"])
    return _class_of(code, reason)(code, reason, message[:MAX_WORDS], retry_after_s)


def _class_of(status: int, reason: str) -> type[KubernetesApiError]:
    if reason == "AlreadyExists":
        return AlreadyExists
    if reason == "Expired":
        return Gone
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return ServerTrouble if status >= 500 else KubernetesApiError
