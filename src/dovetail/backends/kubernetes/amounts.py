"""Resources of nodes and pods under Dovetail's names, as integers in its smallest units.

Requests of a pod are computed as for scheduling (`kubernetes_client.pod_requests`). Only GPUs differ: Dovetail treats
units of a vendor's extended resource as GPUs.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from dovetail.kubernetes_client.pod_requests import amount, requests_of, resource_name
from dovetail.kubernetes_client.quantity import nanos
from dovetail.model.device import WHOLE
from dovetail.model.resources import CORE_RESOURCES, EXTENDED_NAME, GPU, Amounts


def amounts_of(resources: Mapping[str, Any], gpu_resource: str) -> Amounts:
    """The amounts of a mapping of names to quantities. Raises ValueError for an invalid quantity."""
    read = ((resource_name(name), amount(name, nanos(str(text)))) for name, text in resources.items())
    return _as_ours(read, gpu_resource)


def taken_by(pod: Mapping[str, Any], gpu_resource: str) -> Amounts:
    """What a pod takes of its node, including a slot."""
    return _as_ours(requests_of(pod, with_status=True), gpu_resource)


def _as_ours(amounts: Iterable[tuple[str, int]], gpu_resource: str) -> Amounts:
    """Resources whose name is not valid in Dovetail are left out."""
    found: Amounts = {}
    for name, number in amounts:
        if name == gpu_resource:
            found[GPU] = number * WHOLE
        elif name in CORE_RESOURCES or EXTENDED_NAME.fullmatch(name):
            found[name] = number
    return found
