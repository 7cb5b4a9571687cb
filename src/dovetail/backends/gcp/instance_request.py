"""What Google is asked for: one instance with its disk and its interface, in the format of the API. Pure.

Guarantees: the disk goes with the instance. Name and request id come from the token of the launch, so a launch that is
repeated asks for the same instance. Labels take only lower-case letters, digits, `-` and `_`, at most 63; the exact
name of the node stands in the metadata.
"""

import re
import uuid
from typing import Any

from dovetail.backends.cloud_catalogue.offered_types import INSTANCE_TYPE, REGION, ZONE
from dovetail.backends.gcp.settings import GcpSettings
from dovetail.backends.machines.provider import NODE_TAG, Launch

PREFIX = "dovetail-"
SCRIPT, USER_DATA = "startup-script", "user-data"
_NAMESPACE = uuid.UUID("6f1d0f5e-6a52-5d6f-9c5c-0f1f6a6f2b11")
#: Families that take no persistent disks.
_HYPERDISK_ONLY = ("n4-", "c4-", "c4a-", "c4d-", "a3-ultragpu-", "a4-")
#: Families whose machines have GPUs built in; they cannot be moved while Google maintains the host.
_WITH_GPUS = ("a2-", "a3-", "a4-", "g2-", "g4-")


def instance_name(token: str) -> str:
    return f"{PREFIX}{token}"


def request_id(token: str) -> str:
    """Google ignores a second request with the same one."""
    return str(uuid.uuid5(_NAMESPACE, token))


def machine_and_accelerator(type_name: str) -> tuple[str, str | None, int]:
    """`n1-standard-8_nvidia-tesla-t4x2` is an n1-standard-8 with two of these."""
    machine, _, added = type_name.partition("_")
    if not added:
        return machine, None, 0
    accelerator, _, number = added.rpartition("x")
    return machine, accelerator, int(number)


def label_value(text: str) -> str:
    return re.sub(r"[^a-z0-9_-]", "-", text.lower())[:63]


def instance_request(settings: GcpSettings, launch: Launch) -> dict[str, Any]:
    labels, offer = launch.type.node.labels, launch.type.node.offer
    zone, region = labels[ZONE], labels[REGION]
    machine, accelerator, number = machine_and_accelerator(labels[INSTANCE_TYPE])
    body: dict[str, Any] = {
        "name": instance_name(launch.token),
        "machine_type": f"zones/{zone}/machineTypes/{machine}",
        "labels": {name: label_value(value) for name, value in launch.tags().items()},
        "disks": [_disk(settings, machine, zone)],
        "network_interfaces": [_interface(settings, region)],
        "metadata": {
            "items": [{"key": SCRIPT, "value": launch.user_data}, {"key": NODE_TAG, "value": launch.node}],
        },
    }
    if launch.console:  # for images with cloud-init; the agent of Google's other images runs the script above
        body["metadata"]["items"].append({"key": USER_DATA, "value": launch.user_data})
    if accelerator is not None:
        kind = f"zones/{zone}/acceleratorTypes/{accelerator}"
        body["guest_accelerators"] = [{"accelerator_type": kind, "accelerator_count": number}]
    if offer is not None and offer.spot:
        body["scheduling"] = {
            "provisioning_model": "SPOT",
            "instance_termination_action": "DELETE",
            "on_host_maintenance": "TERMINATE",
            "automatic_restart": False,
        }
    elif accelerator is not None or machine.startswith(_WITH_GPUS):
        body["scheduling"] = {"on_host_maintenance": "TERMINATE"}
    if settings.network_tags:
        body["tags"] = {"items": settings.network_tags}
    if settings.service_account is not None:
        scopes = ["https://www.googleapis.com/auth/cloud-platform"]
        body["service_accounts"] = [{"email": settings.service_account, "scopes": scopes}]
    return body


def _disk(settings: GcpSettings, machine: str, zone: str) -> dict[str, Any]:
    kind = settings.disk_type or ("hyperdisk-balanced" if machine.startswith(_HYPERDISK_ONLY) else "pd-balanced")
    made = {
        "source_image": settings.image,
        "disk_size_gb": settings.disk_gib,
        "disk_type": f"zones/{zone}/diskTypes/{kind}",
    }
    return {"boot": True, "auto_delete": True, "initialize_params": made}


def _interface(settings: GcpSettings, region: str) -> dict[str, Any]:
    found: dict[str, Any] = {"network": settings.network}
    if region in settings.subnetworks:
        found = {"subnetwork": settings.subnetworks[region]}
    if settings.public_address:
        found["access_configs"] = [{"name": "External NAT", "type_": "ONE_TO_ONE_NAT"}]
    return found
