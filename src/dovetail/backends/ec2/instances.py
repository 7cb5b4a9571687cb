"""Instances and spot requests, as the API describes them, as machines. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dovetail.backends.machines.provider import LAUNCH_TAG, NODE_TAG, Machine, MachineState

STATES = {
    "pending": MachineState.STARTING,
    "running": MachineState.RUNNING,
    "shutting-down": MachineState.ENDING,
    "stopping": MachineState.ENDING,
    "stopped": MachineState.STOPPED,
    "terminated": MachineState.ENDED,
}
#: Of a spot request, while its instance still runs: AWS takes it back two minutes after the status was set.
_MARKED = ("marked-for-termination", "marked-for-stop", "marked-for-hibernation")
NOTICE_S = 120.0


def machine_of(instance: Mapping[str, Any]) -> Machine:
    tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}
    launched = instance.get("LaunchTime")
    return Machine(
        instance["InstanceId"],
        tags.get(NODE_TAG, ""),
        tags.get(LAUNCH_TAG, ""),
        STATES.get(instance["State"]["Name"], MachineState.STARTING),
        instance.get("InstanceType", ""),
        instance.get("PrivateIpAddress") or instance.get("PublicIpAddress") or None,
        None if launched is None else launched.timestamp(),
        reason=_reason(instance),
    )


def _reason(instance: Mapping[str, Any]) -> str:
    reason = instance.get("StateReason") or {}
    code, message = reason.get("Code", ""), reason.get("Message", "")
    if code == "Server.SpotInstanceTermination":
        return "spot interruption: AWS has taken the instance back"
    return str(message or instance.get("StateTransitionReason") or "")


def with_notices(machines: Iterable[Machine], requests: Iterable[Mapping[str, Any]]) -> list[Machine]:
    """The machines, with `ends_at` where AWS has announced that it takes the instance back."""
    notices = {
        request["InstanceId"]: request["Status"]
        for request in requests
        if request.get("InstanceId") and request.get("Status", {}).get("Code") in _MARKED
    }
    return [_marked(one, notices.get(one.id)) for one in machines]


def _marked(machine: Machine, status: Mapping[str, Any] | None) -> Machine:
    if status is None or machine.state not in (MachineState.STARTING, MachineState.RUNNING):
        return machine
    updated = status.get("UpdateTime")
    ends_at = (0.0 if updated is None else updated.timestamp()) + NOTICE_S
    return replace(machine, ends_at=ends_at, reason="spot interruption: AWS takes the instance back in two minutes")
