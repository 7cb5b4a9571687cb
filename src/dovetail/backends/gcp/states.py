"""An instance as Google describes it, as a machine of ours. Pure."""

from datetime import datetime
from typing import Any

from dovetail.backends.machines.provider import LAUNCH_TAG, NODE_TAG, Machine, MachineState

_STATES = {
    "PENDING": MachineState.STARTING,
    "PROVISIONING": MachineState.STARTING,
    "STAGING": MachineState.STARTING,
    "RUNNING": MachineState.RUNNING,
    "REPAIRING": MachineState.RUNNING,
    "PENDING_STOP": MachineState.ENDING,
    "STOPPING": MachineState.ENDING,
    "DEPROVISIONING": MachineState.ENDING,
    "SUSPENDING": MachineState.STOPPED,
    "SUSPENDED": MachineState.STOPPED,
    "STOPPED": MachineState.STOPPED,
    "TERMINATED": MachineState.STOPPED,
}


def machine_of(instance: Any) -> Machine:
    labels: dict[str, str] = dict(instance.labels)
    exact: dict[str, str] = {item.key: item.value for item in instance.metadata.items if item.key == NODE_TAG}
    state = _STATES.get(instance.status, MachineState.STARTING)
    interfaces = list(instance.network_interfaces)
    zone = instance.zone.rsplit("/", 1)[-1]
    return Machine(
        id=f"{zone}/{instance.name}",
        node=exact.get(NODE_TAG, labels.get(NODE_TAG, "")),
        token=labels.get(LAUNCH_TAG, ""),
        state=state,
        type=instance.machine_type.rsplit("/", 1)[-1],
        address=(interfaces[0].network_i_p or None) if interfaces else None,
        launched_at=_seconds(instance.creation_timestamp),
        reason=f"Google says that it is {instance.status}" if state is MachineState.STOPPED else "",
    )


def is_spot(instance: Any) -> bool:
    return bool(instance.scheduling.provisioning_model == "SPOT" or instance.scheduling.preemptible)


def _seconds(timestamp: str) -> float | None:
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        return None
