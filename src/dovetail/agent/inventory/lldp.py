"""The switches that this machine is plugged into, where lldpd runs.

A rack has the name of its switch; with two switches a rack, both names joined. Only neighbours that forward traffic
count: hosts on a switch that does not speak LLDP see each other, and are no rack.
"""

import json
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from dovetail.model.inventory import MAX_INTERFACES, SwitchPort

ANSWER_WITHIN_S = 5.0
_FORWARDING = ("Bridge", "Router")


def read_switches(options: Sequence[str] = ()) -> list[SwitchPort]:
    """Empty where lldpd is not installed, does not run, or may not be asked."""
    program = shutil.which("lldpcli") or shutil.which("lldpcli", path="/usr/sbin:/sbin")
    if program is None:
        return []
    command = [program, *options, "-f", "json0", "show", "neighbors"]
    try:
        asked = subprocess.run(command, capture_output=True, timeout=ANSWER_WITHIN_S, check=True)  # noqa: S603 - no input
        return switches_in(json.loads(asked.stdout))
    except (OSError, subprocess.SubprocessError, ValueError):
        return []


def switches_in(answer: Any) -> list[SwitchPort]:
    """Of the answer in the format json0, in which everything is a list."""
    found = []
    for interface in _all(_first(answer, "lldp"), "interface"):
        chassis, port = _first(interface, "chassis"), _first(interface, "port")
        forwards = any(one.get("enabled") and one.get("type") in _FORWARDING for one in _all(chassis, "capability"))
        name = _value(chassis, "name") or _value(chassis, "id")
        if forwards and name:
            where = _value(port, "descr") or _value(port, "id")
            found.append(SwitchPort(interface=str(interface.get("name", "")), switch=name, port=where))
    return sorted(found, key=lambda one: (one.interface, one.switch))[:MAX_INTERFACES]


def rack_of(switches: Sequence[SwitchPort]) -> str | None:
    return "+".join(sorted({one.switch for one in switches}))[:253] or None


def _all(table: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = table.get(name, [])
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _first(table: dict[str, Any], name: str) -> dict[str, Any]:
    return (_all(table, name) or [{}])[0]


def _value(table: dict[str, Any], name: str) -> str:
    return str(_first(table, name).get("value", ""))[:253]
