"""Replicas that the controller knows, those it is about to submit, and the ports that they are given."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from dovetail.control.service_controller.book import Key
from dovetail.model.workloads.workload import Workload
from dovetail.services.records import Create, ServiceRecord
from dovetail.services.replicas import FIRST_PORT, LAST_PORT, ReplicaName, replica_workload


class NoPortLeft(Exception):
    """Every port that replicas are given is in use."""


@dataclass(slots=True)
class OwnedReplica:
    """`draining_since`: since when it gets no traffic, because it is to stop. `told`: to stop."""

    key: Key
    name: ReplicaName
    ports: dict[str, int]
    draining_since: float | None = None
    told: bool = False


class NewReplica(NamedTuple):
    """A replica that is to be submitted."""

    owned: OwnedReplica
    spec: Workload


def name_of(record: ServiceRecord, action: Create) -> ReplicaName:
    return ReplicaName(record.name, action.revision, action.index)


def new_replica(record: ServiceRecord, action: Create, taken: set[int]) -> NewReplica:
    """`taken`: ports that it must not be given; those that it is given are added. Raises NoPortLeft."""
    spec = record.revision(action.revision).spec
    ports = {}
    for port in spec.ports:
        number = port.port
        if number is None:
            number = next((one for one in _port_numbers() if one not in taken), None)
        if number is None:
            words = f"replicas have all ports from {FIRST_PORT} to {LAST_PORT}; write the port {port.name} as a number"
            raise NoPortLeft(words)
        ports[port.name] = number
        taken.add(number)
    owned = OwnedReplica(record.key, name_of(record, action), ports)
    return NewReplica(owned, replica_workload(spec, action.revision, action.index, ports))


def _port_numbers() -> Iterable[int]:
    """Every port that may be given, from a random number on: others may listen on the same machines, and a replica that
    meets them gets another port when it is made again."""
    size = LAST_PORT - FIRST_PORT + 1
    start = secrets.randbelow(size)
    return (FIRST_PORT + (start + step) % size for step in range(size))
