"""What Google's error codes mean for a launch: refused, and of which sort, or unknown.

An error comes as an answer to the request (a reason such as `quotaExceeded`) or later in its operation (a code such as
`ZONE_RESOURCE_POOL_EXHAUSTED`). An operation that has ended with an error has made nothing, so it is always a refusal.
"""

import re
from collections.abc import Iterable
from typing import Any

from dovetail.backends.cloud_catalogue.offered_types import REGION
from dovetail.backends.machines.provider import LaunchRefused, MachineType, RefusalKind

_OPERATION_CODES = {
    "ZONE_RESOURCE_POOL_EXHAUSTED": RefusalKind.STOCK_OUT,
    "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS": RefusalKind.STOCK_OUT,
    "STOCKOUT": RefusalKind.STOCK_OUT,
    "QUOTA_EXCEEDED": RefusalKind.QUOTA,
    "LIMIT_EXCEEDED": RefusalKind.QUOTA,
    "PERMISSIONS_ERROR": RefusalKind.PERMISSION,
    "CONDITION_NOT_MET": RefusalKind.PERMISSION,  # a policy of the organisation
    "RESOURCE_NOT_FOUND": RefusalKind.INVALID,
    "INVALID_FIELD_VALUE": RefusalKind.INVALID,
    "INVALID_USAGE": RefusalKind.INVALID,
    "UNSUPPORTED_OPERATION": RefusalKind.INVALID,
}
_REASONS = {
    "quotaExceeded": RefusalKind.QUOTA,
    "limitExceeded": RefusalKind.QUOTA,
    "rateLimitExceeded": None,
    "userRateLimitExceeded": None,
    "resourceNotReady": None,
}
_STATUSES = {
    400: RefusalKind.INVALID,
    401: RefusalKind.PERMISSION,
    403: RefusalKind.PERMISSION,
    404: RefusalKind.INVALID,
}
_METRIC = re.compile(r"[Qq]uota '([A-Z0-9_]+)'")


def kind_of_code(code: str) -> RefusalKind:
    """Of an operation that has ended. What is not known here may be better in a few minutes."""
    return _OPERATION_CODES.get(code, RefusalKind.STOCK_OUT)


def kind_of_answer(status: int, reason: str) -> RefusalKind | None:
    """None: it is not known whether something was launched, or it may go better next time."""
    return _REASONS[reason] if reason in _REASONS else _STATUSES.get(status)


def reason_and_message(error: Any) -> tuple[str, str]:
    """Of a GoogleAPICallError of `google.api_core`."""
    first = next((one for one in error.errors if isinstance(one, dict)), {})
    return str(first.get("reason", "")), " ".join(str(error.message).split())


def refusal(
    kind: RefusalKind, code: str, message: str, asked: MachineType, types: Iterable[MachineType]
) -> LaunchRefused:
    """With all types that would be refused for the same reason."""
    words = f"{code}: {message}" if code else message
    metric = _METRIC.search(message)
    return LaunchRefused(kind, words, [one.name for one in types if _alike(kind, metric and metric[1], asked, one)])


def _alike(kind: RefusalKind, metric: str | None, asked: MachineType, other: MachineType) -> bool:
    if kind is RefusalKind.PERMISSION:
        return True  # rights are those of the project
    if kind is RefusalKind.QUOTA:
        # Quotas of GPUs, disks or addresses have other names; those concern the type that was asked for, at least.
        region = asked.node.labels[REGION]
        return other.quota == asked.quota or (metric is not None and other.quota == f"{region}/{metric}")
    return other.name == asked.name
