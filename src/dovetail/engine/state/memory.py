"""What the engine remembers across a restart beside its records: one text for each part, under a name.

A part registers how it is written and read back. Parts that change with every event are written from time to time
(`texts`); the others when they change (`text`).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from dovetail.cluster.state import Cluster
from dovetail.model.network.topology import Topology

TOPOLOGY, DISTANCES = "topology", "distances"


@dataclass(frozen=True, slots=True)
class Remembered:
    """One part. `write(now)` returns None where there is nothing to remember."""

    name: str
    write: Callable[[float], str | None]
    read: Callable[[str], None]
    periodic: bool = True


class Memory:
    def __init__(self, parts: Iterable[Remembered]) -> None:
        self._parts = {part.name: part for part in parts}

    def texts(self, now: float) -> dict[str, str]:
        """The parts that are written from time to time."""
        written = {part.name: part.write(now) for part in self._parts.values() if part.periodic}
        return {name: text for name, text in written.items() if text is not None}

    def text(self, name: str) -> str:
        """One part, because it changed."""
        text = self._parts[name].write(0.0)
        assert text is not None
        return text

    def recall(self, texts: Mapping[str, str]) -> None:
        """Read parts back in the order of their registration: later ones may need earlier ones."""
        for name, part in self._parts.items():
            if name in texts:
                part.read(texts[name])


def network_parts(cluster: Cluster) -> Iterator[Remembered]:
    """The topology as a user could have written it, and distances set by hand."""

    def write_topology(_: float) -> str:
        return cluster.topology.definition.model_dump_json(exclude_unset=True, by_alias=True)

    def read_topology(text: str) -> None:
        topology = Topology.model_validate_json(text)
        if topology != cluster.topology.definition:
            cluster.set_topology(topology)

    def read_distances(text: str) -> None:
        for one, other, distance in json.loads(text):
            cluster.set_distance(one, other, distance)

    yield Remembered(TOPOLOGY, write_topology, read_topology, periodic=False)
    yield Remembered(DISTANCES, lambda _: json.dumps(cluster.topology.distances.all()), read_distances, periodic=False)
