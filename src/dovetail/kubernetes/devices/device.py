"""A device as a driver offers it, and the pools that devices come in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dovetail.kubernetes_client.objects import Json


class DeviceId(NamedTuple):
    """Unique in a cluster."""

    driver: str
    pool: str
    name: str


class PoolId(NamedTuple):
    driver: str
    name: str


@dataclass(frozen=True, slots=True)
class DraDevice:
    """`body` is what the ResourceSlice says of it, `offer` the slice's own spec."""

    id: DeviceId
    body: Json
    offer: Json


@dataclass(frozen=True, slots=True)
class DevicePool:
    """What of a pool can be had from one node.

    `devices`: in the order in which they are offered; `flaw`: why nothing may be taken from it now, empty if nothing is
    wrong; `counters`: of each set what there is in all, by counter, in nano units; `sharing`: all devices of the pool
    that draw on them, also those that this node cannot have.
    """

    id: PoolId
    devices: tuple[DraDevice, ...] = ()
    flaw: str = ""
    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    sharing: tuple[DraDevice, ...] = ()


class SelectorError(Exception):
    """A selector that cannot be parsed, or that failed on a device; says which, and why."""


class Unallocatable(Exception):
    """A pod's claims cannot be satisfied now; says why."""


#: Does the device satisfy the CEL expression? Raises SelectorError.
Selects = Callable[[str, DraDevice], bool]
