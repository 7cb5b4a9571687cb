"""Resources of nodes and pods under our names, in whole numbers of our smallest units.

What a pod requests is computed as for scheduling (`kubernetes_client.pod_requests`). Only GPUs differ: pieces of
a vendor's extended resource are GPUs to Dovetail.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from dovetail.kubernetes_client.pod_requests import amount, requests_of, resource_name
from dovetail.kubernetes_client.quantity import nanos
from dovetail.model.device import WHOLE
from dovetail.model.resources import CORE_RESOURCES, EXTENDED_NAME, GPU, Amounts


def amounts_of(resources: Mapping[str, Any], gpu_resource: str) -> Amounts:
    """What an object lists by name and quantity. Raises ValueError for what is no quantity."""
    read = ((resource_name(name), amount(name, nanos(str(text)))) for name, text in resources.items())
    return _as_ours(read, gpu_resource)


def taken_by(pod: Mapping[str, Any], gpu_resource: str) -> Amounts:
    """What a pod holds of its node, a slot among it."""
    return _as_ours(requests_of(pod, with_status=True), gpu_resource)


def _as_ours(amounts: Iterable[tuple[str, int]], gpu_resource: str) -> Amounts:
    """Without what no name of ours can be given to."""
    found: Amounts = {}
    for name, number in amounts:
        if name == gpu_resource:
            found[GPU] = number * WHOLE
        elif name in CORE_RESOURCES or EXTENDED_NAME.fullmatch(name):
            found[name] = number
    return found
