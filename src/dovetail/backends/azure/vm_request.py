"""What Azure is asked for: one virtual machine with its disk and its network interface, in the format of its REST API.

Guarantees: everything that is made for a machine has its marks, and goes with it (`deleteOption`). The name comes from
the token of the launch, so a launch that is repeated asks for the same machine. Pure, except for the key.
"""

import base64
from typing import Any

from dovetail.backends.azure.settings import AzureNetwork, AzureSettings
from dovetail.backends.cloud_catalogue.offered_types import INSTANCE_TYPE, REGION, ZONE
from dovetail.backends.machines.provider import Launch

USER = "azureuser"
NETWORK_API = "2022-11-01"
PREFIX = "dovetail-"


def vm_name(token: str) -> str:
    return f"{PREFIX}{token}"


def zone_number(zone: str, region: str) -> str | None:
    """`eastus-2` is zone 2 of eastus; `eastus` is no zone at all."""
    return zone.removeprefix(f"{region}-") if zone != region else None


def vm_request(settings: AzureSettings, launch: Launch, public_key: str) -> dict[str, Any]:
    labels, name = launch.type.node.labels, vm_name(launch.token)
    region = labels[REGION]
    zone = zone_number(labels[ZONE], region)
    body: dict[str, Any] = {
        "location": region,
        "tags": launch.tags(),
        "properties": {
            "hardwareProfile": {"vmSize": labels[INSTANCE_TYPE]},
            "storageProfile": _storage(settings, name),
            "osProfile": _system(launch, name, public_key),
            "networkProfile": _network(settings, settings.networks[region], launch, name),
        },
    }
    if launch.console:
        body["properties"]["diagnosticsProfile"] = {"bootDiagnostics": {"enabled": True}}  # storage of Azure's own
    if zone is not None:
        body["zones"] = [zone]
    if launch.type.node.offer is not None and launch.type.node.offer.spot:
        # A price of -1: never evicted for its price, only for capacity.
        body["properties"] |= {
            "priority": "Spot",
            "evictionPolicy": "Delete",
            "billingProfile": {"maxPrice": -1},
        }
    if settings.machine_identity is not None:
        body["identity"] = {"type": "UserAssigned", "userAssignedIdentities": {settings.machine_identity: {}}}
    return body


def _storage(settings: AzureSettings, name: str) -> dict[str, Any]:
    if settings.image.startswith("/"):
        image = {"id": settings.image}
    else:
        image = dict(zip(("publisher", "offer", "sku", "version"), settings.image.split(":"), strict=True))
    disk = {
        "name": f"{name}-disk",
        "createOption": "FromImage",
        "deleteOption": "Delete",
        "diskSizeGB": settings.disk_gib,
        "managedDisk": {"storageAccountType": settings.disk_type},
    }
    return {"imageReference": image, "osDisk": disk}


def _system(launch: Launch, name: str, public_key: str) -> dict[str, Any]:
    key = {"path": f"/home/{USER}/.ssh/authorized_keys", "keyData": public_key}
    return {
        "computerName": name,
        "adminUsername": USER,
        "customData": base64.b64encode(launch.user_data.encode()).decode(),
        "linuxConfiguration": {"disablePasswordAuthentication": True, "ssh": {"publicKeys": [key]}},
    }


def _network(settings: AzureSettings, network: AzureNetwork, launch: Launch, name: str) -> dict[str, Any]:
    """The interface is described inside the machine, so Azure makes and ends both together."""
    address: dict[str, Any] = {"subnet": {"id": network.subnet}, "primary": True}
    if settings.public_address:
        address["publicIPAddressConfiguration"] = {
            "name": f"{name}-ip",
            "sku": {"name": "Standard"},
            "properties": {"deleteOption": "Delete", "publicIPAllocationMethod": "Static"},
            "tags": launch.tags(),
        }
    interface: dict[str, Any] = {
        "primary": True,
        "deleteOption": "Delete",
        "ipConfigurations": [{"name": "main", "properties": address}],
    }
    if network.security_group is not None:
        interface["networkSecurityGroup"] = {"id": network.security_group}
    return {
        "networkApiVersion": NETWORK_API,
        "networkInterfaceConfigurations": [
            {"name": f"{name}-nic", "properties": interface, "tags": launch.tags()},
        ],
    }


def key_that_nobody_has() -> str:
    """Azure wants a key; the private half of this one is forgotten at once."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = Ed25519PrivateKey.generate().public_key()
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
