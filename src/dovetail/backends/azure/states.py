"""A virtual machine as Azure describes it, as a machine of ours. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dovetail.backends.machines.provider import LAUNCH_TAG, NODE_TAG, Machine, MachineState

#: Power states in which nothing runs. One that is being started is on its way.
_STOPPED = {"stopped", "stopping", "deallocated", "deallocating"}


def machine_of(vm: Any, power: str | None, addresses: Mapping[str, str]) -> Machine:
    """`power`: its power state, if it was asked. `addresses`: by the id of the network interface, in lower case."""
    tags = vm.tags or {}
    state, reason = state_of(_text(vm.provisioning_state), power)
    created = vm.time_created
    interfaces = (vm.network_profile and vm.network_profile.network_interfaces) or []
    found = (addresses.get(str(one.id).lower()) for one in interfaces)
    return Machine(
        id=vm.name,
        node=tags.get(NODE_TAG, ""),
        token=tags.get(LAUNCH_TAG, ""),
        state=state,
        type=_text(vm.hardware_profile.vm_size) if vm.hardware_profile else "",
        address=next((one for one in found if one), None),
        launched_at=created.timestamp() if isinstance(created, datetime) else None,
        reason=reason,
    )


def _text(value: Any) -> str:
    """The SDK gives some texts as members of an enum, those that it knows."""
    return str(getattr(value, "value", value) or "")


def state_of(provisioning: str, power: str | None) -> tuple[MachineState, str]:
    """With the reason, if it does not run any more."""
    if provisioning == "Deleting":
        return MachineState.ENDING, ""
    if power in _STOPPED:
        return MachineState.STOPPED, f"Azure says that it is {power}"
    if power == "running" or provisioning == "Succeeded":
        return MachineState.RUNNING, ""
    if provisioning == "Failed":
        return MachineState.STOPPED, "Azure could not provision it"
    return MachineState.STARTING, ""


def power_state(statuses: Any) -> str | None:
    """Of an instance view: the status `PowerState/running` says `running`."""
    codes = [str(one.code or "") for one in statuses or []]
    return next((code.split("/", 1)[1] for code in codes if code.startswith("PowerState/")), None)


def provisioning_failure(statuses: Any) -> tuple[str, str]:
    """Code and message of the status `ProvisioningState/failed/AllocationFailed`."""
    for one in statuses or []:
        parts = str(one.code or "").split("/")
        if parts[:2] == ["ProvisioningState", "failed"]:
            return (parts[2] if len(parts) > 2 else ""), " ".join(str(one.message or "").split())
    return "", "provisioning failed"
