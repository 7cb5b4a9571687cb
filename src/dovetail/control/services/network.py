"""The network for the API: set and read the topology, domains and distances.

Guarantees: unknown nodes are refused or listed; a change is durable when its method returns. Left to others: what a
topology means (`cluster.network`), and how it is shown (`api.network`).
"""

from collections.abc import Sequence

from dovetail.control.errors import Conflict, NotFound
from dovetail.control.loop.inbox import Apply
from dovetail.control.services.nodes import unknown_nodes
from dovetail.engine.questions.network_questions import Apart, DomainUse
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import DistancesCleared, DistancesSet, TopologySet
from dovetail.model.network.distance_list import MAX_PAIRS
from dovetail.model.network.topology import Topology
from dovetail.model.resources import Amounts
from dovetail.model.text.strict import closest


class NetworkService:
    def __init__(self, questions: Questions, apply: Apply) -> None:
        self._network, self._nodes = questions.network, questions.nodes
        self._apply = apply

    # --- topology --------------------------------------------------------------------------------------------

    async def set_topology(self, topology: Topology) -> None:
        await self._apply([TopologySet(topology)])

    def strangers(self) -> list[str]:
        """Hosts of the topology that are no nodes."""
        return sorted(host for host in self._network.hosts if host not in self._nodes)

    def domains(self, level: str | None = None, task: Amounts | None = None) -> list[DomainUse]:
        """Of one level or of all, widest first; `task`: what one task of a gang would ask for."""
        found = self._network.domains(level, task)
        if found is None:
            assert level is not None, "of all levels there is always a list"
            known = [one.present.name for one in self._network.levels()]
            listed = ", ".join(known) or "none"
            raise NotFound(f"no node is in a domain of level {level[:100]!r}.{closest(level, known)} Levels: {listed}")
        return found

    # --- distances -------------------------------------------------------------------------------------------

    def apart(self, one: str, other: str) -> Apart:
        self._must_be_known([one, other])
        for name in (one, other):
            if name not in self._nodes:
                raise NotFound(f"{name!r} is described in the topology, but no node of that name has joined")
        return self._network.apart(one, other)

    async def set_distances(self, pairs: Sequence[tuple[str, str, float]]) -> None:
        self._must_be_known([name for one, other, _ in pairs for name in (one, other)])
        new = sum(self._network.set_distance(one, other) is None for one, other, _ in pairs)
        if self._network.set_distance_count + new > MAX_PAIRS:
            raise Conflict(f"more than {MAX_PAIRS:,} distances would be set by hand; describe a topology instead")
        await self._apply([DistancesSet(tuple(pairs))])

    async def unset_distance(self, one: str, other: str) -> None:
        if self._network.set_distance(one, other) is None:
            raise NotFound(f"no distance was set between {one[:100]!r} and {other[:100]!r}")
        await self._apply([DistancesSet(((one, other, None),))])

    async def clear_distances(self) -> int:
        """How many there were."""
        count = self._network.set_distance_count
        await self._apply([DistancesCleared()])
        return count

    def _must_be_known(self, names: Sequence[str]) -> None:
        """As a node, or as a host of the topology."""
        known, hosts = self._nodes, self._network.hosts
        missing = [name for name in dict.fromkeys(names) if name not in known and name not in hosts]
        if missing:
            raise unknown_nodes(known, missing)
