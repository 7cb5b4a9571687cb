"""What Azure's error codes mean for a launch: refused, and of which sort, or unknown.

Guarantees: a code that is not known here is no refusal, unless the answer says that the request itself is wrong (400,
404). Codes: "Resolve common Azure deployment errors" and "Troubleshoot allocation failures" of Azure's documentation.
"""

from collections.abc import Iterable
from typing import Any

from dovetail.backends.cloud_catalogue.offered_types import REGION, ZONE
from dovetail.backends.machines.provider import LaunchRefused, MachineType, RefusalKind

_STOCK_OUT = {
    "AllocationFailed",
    "OverconstrainedAllocationRequest",
    "OverconstrainedZonalAllocationRequest",
    "SkuNotAvailable",
    "SpotAllocationFailed",
    "ZonalAllocationFailed",
    "ZonalAllocationFailure",
}
#: OperationNotAllowed has other meanings too; its message tells them apart.
_QUOTA = {"QuotaExceeded", "ResourceQuotaExceeded", "OperationNotAllowed"}
_PERMISSION = {
    "AuthorizationFailed",
    "InvalidAuthenticationToken",
    "InvalidAuthenticationTokenTenant",
    "LinkedAuthorizationFailed",
    "RequestDisallowedByPolicy",
    "SubscriptionNotFound",
    "SubscriptionNotRegistered",
}


def kind_of(code: str, message: str, status: int) -> RefusalKind | None:
    """None: it is not known whether something was launched, or it may go better next time."""
    if code in _STOCK_OUT:
        return RefusalKind.STOCK_OUT
    if code in _QUOTA and (code != "OperationNotAllowed" or "quota" in message.lower()):
        return RefusalKind.QUOTA
    if code in _PERMISSION or status in (401, 403):
        return RefusalKind.PERMISSION
    if status in (400, 404) or code == "OperationNotAllowed":
        return RefusalKind.INVALID
    return None


def code_and_message(error: Any) -> tuple[str, str]:
    """Of an HttpResponseError of `azure.core`."""
    described = getattr(error, "error", None)
    code = str(getattr(described, "code", None) or "")
    message = str(getattr(described, "message", None) or getattr(error, "message", None) or error)
    return code, " ".join(message.split())


def refusal(
    kind: RefusalKind, code: str, message: str, asked: MachineType, types: Iterable[MachineType]
) -> LaunchRefused:
    """With all types that would be refused for the same reason."""
    words = f"{code}: {message}" if code else message
    return LaunchRefused(kind, words, [one.name for one in types if _alike(kind, code, asked, one)])


def _alike(kind: RefusalKind, code: str, asked: MachineType, other: MachineType) -> bool:
    if kind is RefusalKind.PERMISSION:
        return True  # rights are those of the resource group
    if kind is RefusalKind.QUOTA:
        return other.quota == asked.quota
    if kind is RefusalKind.STOCK_OUT and code == "SkuNotAvailable":
        return _size_and_place(other) == _size_and_place(asked)  # spot or not
    return other.name == asked.name


def _size_and_place(kind: MachineType) -> tuple[object, ...]:
    labels = kind.node.labels
    return labels.get("node.kubernetes.io/instance-type"), labels[REGION], labels[ZONE]
